//! How the heap grows by chunks and gives them back.
//!
//! A chunk of which nothing is in use goes back to the source, unless it is the only such one:
//! keeping one spares a program that hovers at a chunk's edge from taking and giving it each time.

use super::block::{BlockState, INTERIOR};
use super::block_map::{self, ChunkKind, MAP_ORDER, USABLE_UNITS};
use super::central::Heap;
use super::extent::Extent;
use super::shadow;
use super::shadow::{SHADOW_OFFSET, SHADOW_ORDER};
use crate::cache::checked;
use crate::memory::Memory;
use crate::order::{CHUNK_BYTES, CHUNK_ORDER, CHUNK_UNITS, block_bytes, block_units, chunk_of};
use crate::source::{ChunkRun, ChunkSource};

impl Heap<'_> {
    /// Whether the arena may own `count` more chunks.
    pub(super) fn has_room_for(&self, count: u32) -> bool {
        let owned = self.central.chunks.get() + self.central.huge_chunks.get();
        owned + count <= self.central.max_chunks.get()
    }

    /// Adds one chunk from `source`; `None` when the memory, or the arena, is at its maximum.
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    pub(crate) fn grow(&mut self, source: &impl ChunkSource) -> Option<()> {
        if !self.has_room_for(1) {
            return None;
        }
        let run = source.acquire(1, self.claimant())?;
        // SAFETY: the source just gave the chunk.
        unsafe { self.adopt(run) };
        self.central.grows.add(1);
        Some(())
    }

    /// Makes a chunk part of the heap, all of it free but its map.
    ///
    /// # Safety
    ///
    /// The run is one chunk, the caller's to give.
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    pub(crate) unsafe fn adopt(&mut self, run: ChunkRun) {
        let chunk = run.address;
        if !run.zeroed {
            wipe_map(self.memory, chunk);
        }
        // SAFETY: the chunk is the heap's now, and its map zero.
        unsafe { block_map::begin_chunk(self.memory, chunk) };
        self.central.table.free_units(chunk).set(0);
        let state = if run.zeroed {
            BlockState::Zeroed
        } else {
            BlockState::Free
        };
        if self.is_shadowed() {
            // SAFETY: the chunk is the heap's, and this part of it on no list.
            unsafe { shadow::begin(self.memory, chunk, run.zeroed) };
            let shadow = Extent::whole(SHADOW_ORDER);
            self.mark(chunk + SHADOW_OFFSET, shadow, BlockState::Metadata);
            // The map took half of a block.
            self.central.splits.add(1);
        }
        // From here on the chunk is the heap's: what is on no list yet is found in its map.
        self.central.table.set_kind(chunk, ChunkKind::Blocks);
        // Highest first: the lowest of an order is then first on its list, where an arena that is
        // being made finds the place of its header.
        for (offset, order) in self.fresh_blocks().rev() {
            self.list(chunk + offset, order, state);
        }
        let usable = self.usable_units();
        self.central.chunks.add(1);
        self.central.metadata_units.add(CHUNK_UNITS - usable);
        self.central.free_units.add(usable);
        self.note_peaks();
    }

    fn is_shadowed(&self) -> bool {
        checked::is_in_use() && self.central.shadowed.get() != 0
    }

    /// Units of a chunk of blocks that are left to allocate.
    pub(super) fn usable_units(&self) -> u32 {
        if self.is_shadowed() {
            USABLE_UNITS - block_units(SHADOW_ORDER)
        } else {
            USABLE_UNITS
        }
    }

    /// Offset and order of the blocks that a chunk consists of when all of it is free: one of each
    /// order from the map's up, each behind all smaller ones. A shadow map takes the lower half of
    /// the one of twice its size.
    fn fresh_blocks(&self) -> impl DoubleEndedIterator<Item = (u32, u32)> + use<> {
        let shadowed = self.is_shadowed();
        (MAP_ORDER..CHUNK_ORDER).map(move |order| {
            if shadowed && block_bytes(order) == SHADOW_OFFSET {
                (SHADOW_OFFSET + block_bytes(SHADOW_ORDER), SHADOW_ORDER)
            } else {
                (block_bytes(order), order)
            }
        })
    }

    /// Gives the chunk that holds `address` back to `source` if it is wholly free and another one
    /// is too.
    pub(crate) fn trim(&mut self, source: &impl ChunkSource, address: u32) {
        let chunk = chunk_of(address);
        if self.central.empty_chunks.get() > 1
            && self.central.table.free_units(chunk).get() >= self.usable_units()
        {
            self.give_back(source, chunk);
        }
    }

    /// Gives a chunk that is wholly free back to `source`.
    #[cold]
    #[inline(never)]
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    fn give_back(&mut self, source: &impl ChunkSource, chunk: u32) {
        let usable = self.usable_units();
        for (offset, order) in self.fresh_blocks() {
            // The chunk is wholly free and coalesced, so it consists of these blocks.
            self.unlist(chunk + offset, order);
        }
        self.central.merges.add(self.is_shadowed().into());
        self.central.chunks.sub(1);
        self.central.metadata_units.sub(CHUNK_UNITS - usable);
        self.central.free_units.sub(usable);
        self.central.table.set_kind(chunk, ChunkKind::Returned);
        self.central.releases.add(1);
        // SAFETY: no list and no table knows the chunk any more.
        unsafe { source.release(chunk, 1) };
    }

    /// Gives the whole arena back: every chunk, whatever is in it, but the one at `last`, which
    /// holds the heap's own state and is the caller's to release.
    ///
    /// # Safety
    ///
    /// Nobody uses the arena or anything allocated from it any more.
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    pub(crate) unsafe fn dissolve(&mut self, source: &impl ChunkSource, last: u32) {
        let kinds = [ChunkKind::Blocks, ChunkKind::Huge, ChunkKind::HugeRest];
        for chunk in kinds
            .into_iter()
            .flat_map(|kind| self.central.table.of_kind(kind))
        {
            if chunk != last {
                self.central.table.set_kind(chunk, ChunkKind::Returned);
                // SAFETY: the caller promises that nothing in the chunk is used.
                unsafe { source.release(chunk, 1) };
            }
        }
    }
}

/// Zeroes the map of a chunk that the heap is about to adopt.
fn wipe_map(memory: Memory, chunk: u32) {
    const {
        assert!(INTERIOR == 0 && block_bytes(MAP_ORDER) == CHUNK_UNITS && CHUNK_UNITS < CHUNK_BYTES)
    };
    // SAFETY: the map is the chunk's first 65,536 bytes, and the chunk is the heap's.
    unsafe {
        memory
            .pointer::<u8>(chunk)
            .write_bytes(INTERIOR, CHUNK_UNITS as usize)
    };
}
