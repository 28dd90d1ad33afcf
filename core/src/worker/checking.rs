//! What checking mode adds to the calls of a worker.
//!
//! ```text
//!   alloc   find a block ─▶ shadow: these bytes are allocated ─▶ poison the padding ─▶ program
//!   free    claim the block's byte by an exchange ─▶ is the padding whole? ─▶ shadow: none
//!           ─▶ poison all of it ─▶ quarantine ─▶ is the poison whole? ─▶ stack, or heap
//! ```
//!
//! **Ordering.** The exchange of the block's byte from allocated to cached has one winner, so of
//! two workers that free one object at the same moment exactly one does, and the other is refused.
//! It acquires and releases, though what it guards needs neither: the winner owns the block from
//! then on, and the program ordered its own hand-over of the pointer. Everything behind the
//! exchange, shadow bytes, poison and quarantine, is the winner's alone.
//!
//! Damage that is found belongs to whoever caused it, not to the call that finds it: calls go on,
//! and [`Arena::damage`](crate::Arena::damage) tells. Huge blocks go back to the source when they
//! are freed, without quarantine: their padding is checked, and a second free of one is refused.

use super::Worker;
use super::check::Block;
use super::miss::Request;
use crate::cache::checked::Checked;
use crate::check::huge_padding;
use crate::damage::{Damage, DamageKind};
use crate::error::{Busy, FreeError, ReallocError};
use crate::heap::block::{BlockState, block_byte, block_extent};
use crate::heap::block_map::{ChunkKind, map_byte};
use crate::heap::central::Heap;
use crate::heap::poison::{self, FREED, PADDING};
use crate::heap::shadow;
use crate::lock::Patience;
use crate::order::block_bytes;
use crate::source::ChunkSource;
use core::ptr::NonNull;

impl<S: ChunkSource> Worker<'_, S> {
    /// The pointer to a block that was just taken for a request of `size` bytes.
    pub(super) fn hand_out(&self, block: Block, size: usize) -> NonNull<u8> {
        if let Some(checked) = self.slot.checked(self.memory) {
            // In this order: if the worker ends, what counts as asked for has its padding.
            self.poison_padding(block, size);
            self.set_requested(block, size);
            checked.requested.add(size as u64);
        }
        self.pointer(block.address)
    }

    /// Bytes that were asked for when the block was allocated.
    pub(super) fn requested(&self, block: Block) -> usize {
        match block.whole_order() {
            // SAFETY: the mode gives every chunk of blocks a shadow map.
            Some(order) => unsafe { shadow::size(self.memory, block.address, order) as usize },
            None => {
                let padding = huge_padding(self.header, self.memory, block.address).get();
                // Of a block that others free or resize at this moment, anything may be read.
                self.block_bytes(block).saturating_sub(padding as usize)
            }
        }
    }

    fn set_requested(&self, block: Block, size: usize) {
        match block.whole_order() {
            // SAFETY: as above, and the block is this worker's.
            Some(order) => unsafe {
                shadow::set(self.memory, block.address, order, size as u32);
            },
            None => {
                let padding = self.block_bytes(block) - size;
                huge_padding(self.header, self.memory, block.address).set(padding as u32);
            }
        }
    }

    fn poison_padding(&self, block: Block, size: usize) {
        let padding = size as u32..self.last_byte(block);
        // SAFETY: the block is this worker's, and the program did not ask for these bytes.
        unsafe { poison::fill(self.memory, block.address, padding, PADDING) };
    }

    /// The end of the block as an offset: below 4 GiB, since chunk 0 is never handed out.
    fn last_byte(&self, block: Block) -> u32 {
        self.block_bytes(block) as u32
    }

    /// Notes it if somebody wrote behind the `size` bytes that the block was allocated for.
    fn look_behind(&self, checked: &Checked, block: Block, size: usize) {
        if size == 0 {
            // Nobody got it: an agent ended as it was being handed out.
            return;
        }
        let padding = size as u32..self.last_byte(block);
        // SAFETY: the block is this worker's, being allocated and about to be freed or resized.
        let damaged =
            unsafe { poison::first_damaged(self.memory, block.address, padding, PADDING) };
        self.report(checked, DamageKind::BehindObject, block.address, damaged);
    }

    fn report(
        &self,
        checked: &Checked,
        kind: DamageKind,
        address: u32,
        damaged: Option<(u32, u8)>,
    ) {
        if let Some((offset, found)) = damaged {
            checked.report(Damage {
                kind,
                address,
                offset,
                found,
            });
        }
    }

    /// Frees a block that was found allocated: claims it, and puts it into the quarantine. What
    /// leaves that, or never goes there, is handed to `release`: claimed, and held by no place.
    #[inline(never)]
    pub(super) fn free_checked(
        &self,
        checked: &Checked,
        block: Block,
        release: impl FnMut(Block),
    ) -> Result<(), FreeError> {
        checked.claiming.set(block.address);
        let freed = self.free_claimed(checked, block, release);
        if block.extent.is_none() {
            self.slot.deferring.end();
        }
        checked.let_go(block.address);
        freed
    }

    fn free_claimed(
        &self,
        checked: &Checked,
        block: Block,
        mut release: impl FnMut(Block),
    ) -> Result<(), FreeError> {
        self.claim(block)?;
        checked.claimed.set(block.address);
        let size = self.requested(block);
        self.look_behind(checked, block, size);
        checked.requested.add((size as u64).wrapping_neg());
        let address = block.address;
        // In this mode all but huge blocks are whole.
        let Some(order) = block.whole_order() else {
            // No padding, for who has these chunks next and ends before it says how much.
            self.set_requested(block, self.block_bytes(block));
            release(block);
            return Ok(());
        };
        self.set_requested(block, 0);
        // SAFETY: the claim made the block this worker's.
        unsafe { poison::fill(self.memory, address, 0..block_bytes(order), FREED) };
        // A hook that a release runs may free as well, and fill the place that was made.
        while !checked.quarantine.push(self.memory, address, order) {
            let Some(oldest) = self.leave_quarantine(checked) else {
                // There is room for none.
                release(block);
                break;
            };
            release(oldest);
        }
        Ok(())
    }

    /// Makes an allocated block this worker's, or says why somebody else's free came first.
    fn claim(&self, block: Block) -> Result<(), FreeError> {
        let (claimed, meanwhile) = match block.whole_order() {
            Some(order) => {
                let [from, to] = [BlockState::Allocated, BlockState::Cached];
                // SAFETY: the block lies in a chunk of blocks of the arena.
                let byte = unsafe { map_byte(self.memory, block.address) };
                let claimed = byte.exchange(block_byte(from, order), block_byte(to, order));
                (claimed, FreeError::Cached)
            }
            None => {
                // It counts as deferred from here on, by this worker.
                self.slot.deferring.begin(block.address);
                let [from, to] = [ChunkKind::Huge, ChunkKind::HugeDeferred];
                let claimed = self
                    .header
                    .central
                    .table
                    .exchange_kind(block.address, from, to);
                (claimed, FreeError::NotAllocated)
            }
        };
        if claimed {
            return Ok(());
        }
        // Freed and allocated anew since is a double free all the same.
        let found = self.check(self.memory.pointer(block.address));
        Err(found.err().unwrap_or(meanwhile))
    }

    /// Takes the object that was freed first out of the quarantine, with its order, and looks
    /// whether it is as it was left.
    fn leave_quarantine(&self, checked: &Checked) -> Option<Block> {
        let address = checked.quarantine.oldest(self.memory)?;
        // SAFETY: what is in the quarantine is a block of the arena.
        let extent = block_extent(unsafe { map_byte(self.memory, address) }.get())?;
        let order = extent.order();
        checked.leaving.set(address);
        checked.quarantine.drop_oldest(order);
        let bytes = 0..block_bytes(order);
        // SAFETY: and it is this worker's.
        let damaged = unsafe { poison::first_damaged(self.memory, address, bytes, FREED) };
        self.report(checked, DamageKind::AfterFree, address, damaged);
        Some(Block {
            address,
            extent: Some(extent),
        })
    }

    /// Gives a claimed block on to the stack of its order or to the heap.
    #[inline(never)]
    pub(super) fn release(&self, block: Block, patience: Patience) {
        if let Some(order) = block.whole_order()
            && let Some(lifo) = self.stack(order)
            && (lifo.push(self.memory, block.address)
                || self.make_room(lifo, order, patience).is_ok()
                    && lifo.push(self.memory, block.address))
        {
            self.let_go(block.address);
            return;
        }
        match self.heap(patience) {
            Ok(mut heap) => self.release_locked(&mut heap, block),
            Err(Busy) => self.defer(block),
        }
    }

    /// Notes that an object which this worker had claimed, or taken out of its quarantine, has a place
    /// now where it is found if the worker ends.
    #[inline]
    pub(super) fn let_go(&self, address: u32) {
        if let Some(checked) = self.slot.checked(self.memory) {
            checked.let_go(address);
        }
    }

    /// Returns what the quarantine holds to the heap.
    #[inline(never)]
    pub(super) fn flush_quarantine(&self, checked: &Checked, heap: &mut Heap<'_>) {
        while let Some(block) = self.leave_quarantine(checked) {
            self.release_locked(heap, block);
        }
    }

    /// [`resize`](Self::resize), and what checking mode knows of the block's bytes follows.
    pub(super) fn resize_checked(
        &self,
        block: Block,
        request: &Request,
        size: usize,
    ) -> Result<bool, ReallocError> {
        let Some(checked) = self.slot.checked(self.memory) else {
            return self.resize(block, request, size);
        };
        let before = self.requested(block);
        self.look_behind(checked, block, before);
        checked.resizing.set(block.address);
        // What a smaller block gives up is somebody else's as soon as the heap has it.
        self.set_requested(block, before.min(size));
        let resized = self.resize(block, request, size);
        let requested = if matches!(resized, Ok(true)) {
            size
        } else {
            before
        };
        // It may have kept its order, where it could not give up what it does not need.
        let block = self.check(self.memory.pointer(block.address))?;
        self.set_requested(block, requested);
        if requested == size {
            self.poison_padding(block, size);
        }
        checked.resizing.set(0);
        let grown = (requested as u64).wrapping_sub(before as u64);
        checked.requested.add(grown);
        resized
    }
}
