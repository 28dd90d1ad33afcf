//! Resizing a block where it is.
//!
//! A block that starts at a multiple of a larger order's size can grow over what follows it, for as
//! long as that is free. It shrinks by giving away what it does not need.

use super::block::{BlockState, INTERIOR, block_extent, block_state};
use super::block_map::map_byte;
use super::central::Heap;
use super::extent::Extent;
use crate::order::{UNIT_BYTES, block_units, chunk_of, largest_between, unit_of};

impl Heap<'_> {
    /// Makes the allocated block at `address`, of `from`, one of the smaller extent `to`.
    ///
    /// # Safety
    ///
    /// The block is allocated, of `from`, and nobody uses its bytes beyond the new size.
    pub(crate) unsafe fn shrink(&mut self, address: u32, from: Extent, to: Extent) {
        self.mark(address, to, BlockState::Allocated);
        let start = unit_of(address);
        let (kept, end) = (start + to.units(), start + from.units());
        let pieces = self.insert_area(chunk_of(address), kept, end);
        self.central.splits.add(pieces.into());
        self.resized(from, to);
    }

    /// Makes the allocated block at `address`, of `from`, one of the larger extent `to`, if all
    /// that it takes in is free; whether it was.
    ///
    /// # Safety
    ///
    /// The block is allocated, of `from`, and the caller's.
    pub(crate) unsafe fn extend(&mut self, address: u32, from: Extent, to: Extent) -> bool {
        let (chunk, start) = (chunk_of(address), unit_of(address));
        let (first, end) = (start + from.units(), start + to.units());
        let is_placed = start & (block_units(to.order()) - 1) == 0;
        if !is_placed || !self.is_free_area(chunk, first, end) {
            return false;
        }
        let mut unit = first;
        while unit < end {
            let piece = chunk + unit * UNIT_BYTES;
            let Some(order) = self.free_order(piece) else {
                break;
            };
            let state = self.unlist(piece, order);
            // SAFETY: the piece was free, and becomes the inside of the caller's block.
            unsafe { map_byte(self.memory, piece) }.set(INTERIOR);
            unit += block_units(order);
            self.central.merges.add(1);
            // What it has more than is needed: it was one free block, so nothing around it merges.
            let mut rest = end;
            while rest < unit {
                let size = largest_between(rest, unit);
                self.list(chunk + rest * UNIT_BYTES, size, state);
                rest += block_units(size);
                self.central.splits.add(1);
            }
        }
        self.mark(address, to, BlockState::Allocated);
        self.central.free_units.sub(end - first);
        self.resized(from, to);
        self.note_peaks();
        true
    }

    /// Whether the units `from .. to` of a chunk are in free blocks, of which one starts at `from`.
    fn is_free_area(&self, chunk: u32, from: u32, to: u32) -> bool {
        let mut unit = from;
        while unit < to {
            match self.free_order(chunk + unit * UNIT_BYTES) {
                Some(order) => unit += block_units(order),
                None => return false,
            }
        }
        true
    }

    /// The order of the free block at `address`, if one starts there.
    fn free_order(&self, address: u32) -> Option<u32> {
        // SAFETY: the address is in a chunk of blocks of the arena.
        let byte = unsafe { map_byte(self.memory, address) }.get();
        let extent = block_extent(byte)?;
        block_state(byte).is_free().then(|| extent.order())
    }

    fn resized(&self, from: Extent, to: Extent) {
        self.central.out(from.order()).sub(1);
        self.central.out(to.order()).add(1);
    }
}
