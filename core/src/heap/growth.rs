//! How the heap grows by chunks and gives them back.
//!
//! A chunk of which nothing is in use goes back to the source, unless it is the only such one:
//! keeping one spares a program that hovers at a chunk's edge from taking and giving it each time.

use super::block::{BlockState, INTERIOR};
use super::block_map::{self, ChunkKind, MAP_ORDER, USABLE_UNITS};
use super::central::Heap;
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
    pub(crate) fn grow(&mut self, source: &impl ChunkSource) -> Option<()> {
        if !self.has_room_for(1) {
            return None;
        }
        let run = source.acquire(1)?;
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
    pub(crate) unsafe fn adopt(&mut self, run: ChunkRun) {
        let chunk = run.address;
        if !run.zeroed {
            wipe_map(self.memory, chunk);
        }
        // SAFETY: the chunk is the heap's now, and its map zero.
        unsafe { block_map::begin_chunk(self.memory, chunk) };
        self.chunks.free_units(chunk).set(0);
        self.chunks.set_kind(chunk, ChunkKind::Blocks);
        let state = if run.zeroed {
            BlockState::Zeroed
        } else {
            BlockState::Free
        };
        for order in MAP_ORDER..CHUNK_ORDER {
            self.list(chunk + block_bytes(order), order, state);
        }
        self.central.chunks.add(1);
        self.central.metadata_units.add(block_units(MAP_ORDER));
        self.central.free_units.add(USABLE_UNITS);
    }

    /// Gives the chunk that holds `address` back to `source` if it is wholly free and another one
    /// is too.
    pub(crate) fn trim(&mut self, source: &impl ChunkSource, address: u32) {
        let chunk = chunk_of(address);
        if self.chunks.free_units(chunk).get() < USABLE_UNITS
            || self.central.empty_chunks.get() <= 1
        {
            return;
        }
        for order in MAP_ORDER..CHUNK_ORDER {
            // The chunk is wholly free and coalesced, so it consists of these blocks.
            self.unlist(chunk + block_bytes(order), order);
        }
        self.central.chunks.sub(1);
        self.central.metadata_units.sub(block_units(MAP_ORDER));
        self.central.free_units.sub(USABLE_UNITS);
        self.chunks.set_kind(chunk, ChunkKind::Returned);
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
    pub(crate) unsafe fn dissolve(&mut self, source: &impl ChunkSource, last: u32) {
        let kinds = [ChunkKind::Blocks, ChunkKind::Huge, ChunkKind::HugeRest];
        for chunk in kinds.into_iter().flat_map(|kind| self.chunks.of_kind(kind)) {
            if chunk != last {
                self.chunks.set_kind(chunk, ChunkKind::Returned);
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
