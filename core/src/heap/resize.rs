//! Resizing a block where it is.
//!
//! A block of order k that starts at a multiple of a larger size is the lower half of that larger
//! block, so it can grow by swallowing its buddy, and that one's, for as long as each is free and
//! whole. It shrinks by giving its upper halves away; their buddy is in use, so nothing merges.

use super::block::{BlockState, INTERIOR};
use super::block_map::map_byte;
use super::central::Heap;
use crate::order::{block_bytes, block_units, unit_of};

impl Heap<'_> {
    /// Makes the allocated block at `address`, of `from`, one of the smaller order `to`.
    ///
    /// # Safety
    ///
    /// The block is allocated, of `from`, and nobody uses its bytes beyond the new size.
    pub(crate) unsafe fn shrink(&mut self, address: u32, from: u32, to: u32) {
        self.mark(address, to, BlockState::Allocated);
        for order in to..from {
            self.list(address + block_bytes(order), order, BlockState::Free);
        }
        self.resized(from, to);
        self.central
            .free_units
            .add(block_units(from) - block_units(to));
        self.central.splits.add((from - to).into());
    }

    /// Makes the allocated block at `address`, of `from`, one of the larger order `to`, if all
    /// that it takes in is free; whether it was.
    ///
    /// # Safety
    ///
    /// The block is allocated, of `from`, and the caller's.
    pub(crate) unsafe fn extend(&mut self, address: u32, from: u32, to: u32) -> bool {
        let is_lower_half = unit_of(address).is_multiple_of(block_units(to));
        let mut buddies = from..to;
        if !is_lower_half || !buddies.all(|order| self.is_free(address + block_bytes(order), order))
        {
            return false;
        }
        for order in from..to {
            let buddy = address + block_bytes(order);
            self.unlist(buddy, order);
            // SAFETY: the buddy was free, and becomes the inside of the caller's block.
            unsafe { map_byte(self.memory, buddy) }.set(INTERIOR);
        }
        self.mark(address, to, BlockState::Allocated);
        self.resized(from, to);
        self.central
            .free_units
            .sub(block_units(to) - block_units(from));
        self.central.merges.add((to - from).into());
        self.note_peaks();
        true
    }

    fn resized(&self, from: u32, to: u32) {
        self.central.out(from).sub(1);
        self.central.out(to).add(1);
    }
}
