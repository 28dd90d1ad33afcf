//! Putting a heap in order whose holder ended in the middle of a call.
//!
//! What a heap consists of is in its block maps and its chunk table; lists and counters only say it
//! again. So they are made anew from those. That is right because whoever changes a map does it in
//! an order that leaves it readable at every step:
//!
//! * **Splitting** writes the pieces behind the first block while that is still one free block, so
//!   they do not count yet, and the first block last.
//! * **Merging**, growing and shrinking leave zeroes where a block was or is going to be. Where a
//!   block should start and no byte says so, memory is free up to the next block.
//! * A block is **out of the heap** if its byte says so. Which of its owners' places holds it, and
//!   what it is there, is theirs to say.
//! * A **chunk** is the heap's once the table says so, and a **huge run** once its first chunk is
//!   marked, and until then it is nobody's: the source knows for whom it was taken.
//!
//! ```text
//!   map     │ out │ free ░░░ stale ░ │ out │ 0 0 0 0 0 0 │ out │      ░ bytes that nobody counts yet
//!   anew    │ out │ free     │ free  │ out │ free │ free │ out │      maximal blocks, so nothing is
//!                                                                     left to coalesce
//! ```
//!
//! Others go on meanwhile with the blocks that they own, and change the state of such a block, but
//! not its order, nor anything that is free. If the heir ends too, the next one begins again: each
//! free area stays one, whatever of it is cleared and listed by then.
//!
//! What is known to be zero is not known any more: the zeroes of an area may have links among them.
//!
//! **Stray deferred blocks** are marked so, and on no list: the holder had taken them off to free
//! them, or a worker ended before it linked one. A living worker's block looks the same while it is
//! being linked; but its slot names it, from before it is marked until it is on the list. So a
//! marked block that no slot names, and that is still marked after one more drain, is a stray.

use super::block::{BlockState, INTERIOR, block_extent, block_state};
use super::block_map::{ChunkKind, map_byte};
use super::central::Heap;
use super::extent::Extent;
use crate::order::{
    CHUNK_BYTES, CHUNK_ORDER, CHUNK_UNITS, MAX_CHUNKS, UNIT_BYTES, block_units, chunk_index,
    largest_between,
};
use crate::source::ChunkSource;

/// Blocks that a chunk consists of when all of it is free: its map, and one of each order above.
const FRESH_BLOCKS: u64 = 5;

/// What is counted while a heap is made anew.
#[derive(Default)]
struct Count {
    chunks: u32,
    free_units: u32,
    metadata_units: u32,
    out: [u32; CHUNK_ORDER as usize],
    blocks: u64,
    listed: u32,
}

/// What rebuilding a heap found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rebuilt {
    /// Free blocks listed.
    pub(crate) listed: u32,
    /// Chunks that were lost between the source and the arena.
    pub(crate) reclaimed: u32,
}

impl Heap<'_> {
    /// Makes lists and counters anew. `is_metadata` says whether a block of metadata is in use.
    ///
    /// # Safety
    ///
    /// The lock was taken over from an agent that has ended.
    pub(crate) unsafe fn rebuild(
        &mut self,
        source: &impl ChunkSource,
        is_metadata: impl Fn(u32) -> bool,
    ) -> Rebuilt {
        self.settle_drained();
        let central = self.central;
        let huge_chunks = self.settle_huge();
        central.lists.clear();
        central.empty_chunks.set(0);
        let mut count = Count::default();
        for chunk in central.table.of_kind(ChunkKind::Blocks) {
            count.chunks += 1;
            self.rebuild_chunk(chunk, &is_metadata, &mut count);
        }
        central.chunks.set(count.chunks);
        central.huge_chunks.set(huge_chunks);
        central.free_units.set(count.free_units);
        central.metadata_units.set(count.metadata_units);
        for (counter, &blocks) in central.out.iter().zip(&count.out) {
            counter.set(blocks);
        }
        self.settle_history(&count);
        let is_ours = |chunk| {
            !matches!(
                central.table.kind(chunk),
                ChunkKind::Foreign | ChunkKind::Returned
            )
        };
        // SAFETY: chunks are acquired and released under this lock only, and what the table does not
        // know nobody has had.
        let reclaimed = unsafe { source.reclaim(self.claimant(), is_ours) };
        Rebuilt {
            listed: count.listed,
            reclaimed,
        }
    }

    /// Counts the block that was being drained if it was free by then.
    fn settle_drained(&mut self) {
        let deferred = &self.central.deferred;
        let draining = deferred.draining.get();
        if draining != 0 && self.deferred_extent(draining).is_none() {
            deferred
                .drained_units
                .set(deferred.drained_units_then.get());
        }
        deferred.draining.set(0);
    }

    /// Drops from the table what is part of no whole huge run; the chunks of those that are.
    fn settle_huge(&mut self) -> u32 {
        let table = &self.central.table;
        let mut huge = 0;
        let mut index = 1;
        while index < MAX_CHUNKS as u32 {
            let chunk = index * CHUNK_BYTES;
            index += match table.kind(chunk) {
                ChunkKind::Huge | ChunkKind::HugeDeferred => {
                    let count = table.run_chunks(chunk).get();
                    huge += count;
                    count
                }
                ChunkKind::HugeRest => {
                    table.set_kind(chunk, ChunkKind::Returned);
                    1
                }
                ChunkKind::Foreign | ChunkKind::Blocks | ChunkKind::Returned => 1,
            };
        }
        huge
    }

    /// Lists what is free in a chunk, and counts what is not.
    fn rebuild_chunk(&mut self, chunk: u32, is_metadata: &impl Fn(u32) -> bool, count: &mut Count) {
        self.central.table.free_units(chunk).set(0);
        let mut free_from = 0;
        let mut unit = 0;
        while unit < CHUNK_UNITS {
            let address = chunk + unit * UNIT_BYTES;
            // SAFETY: in a chunk of the arena.
            let byte = unsafe { map_byte(self.memory, address) }.get();
            let (state, extent) = (block_state(byte), block_extent(byte));
            let units = extent.map_or(1, Extent::units);
            let order = extent.map_or(0, Extent::order);
            let is_placed = extent.is_some()
                && unit.is_multiple_of(block_units(order))
                && unit + units <= CHUNK_UNITS;
            let is_kept = match state {
                BlockState::Interior | BlockState::Free | BlockState::Zeroed => false,
                BlockState::Metadata => is_metadata(address),
                BlockState::Allocated
                | BlockState::Cached
                | BlockState::InTransfer
                | BlockState::Deferred => true,
            };
            if is_kept && is_placed {
                self.list_area(chunk, free_from, unit, count);
                if state == BlockState::Metadata {
                    count.metadata_units += units;
                } else {
                    count.out[order as usize] += 1;
                }
                count.blocks += 1;
                unit += units;
                free_from = unit;
            } else {
                // Of a block, all that it covers; where none starts, this unit.
                let covered = if state == BlockState::Interior || !is_placed {
                    1
                } else {
                    units
                };
                self.clear(address, covered);
                unit += covered;
            }
        }
        self.list_area(chunk, free_from, CHUNK_UNITS, count);
    }

    /// Clears the map bytes of the `units` units from `address` on: the first one last, so that it
    /// covers the others until they are clear.
    fn clear(&mut self, address: u32, units: u32) {
        for unit in (0..units).rev() {
            // SAFETY: in a chunk of the arena, and free, so the heap's.
            let byte = unsafe { map_byte(self.memory, address + unit * UNIT_BYTES) };
            if byte.get() != INTERIOR {
                byte.set(INTERIOR);
            }
        }
    }

    /// Lists the units `from .. to` of a chunk, all of them free and their bytes clear, as blocks
    /// that are as large as they can be.
    fn list_area(&mut self, chunk: u32, from: u32, to: u32, count: &mut Count) {
        let mut unit = from;
        while unit < to {
            let order = largest_between(unit, to);
            self.list(chunk + unit * UNIT_BYTES, order, BlockState::Free);
            unit += block_units(order);
            count.blocks += 1;
            count.listed += 1;
        }
        count.free_units += to - from;
    }

    /// Makes the counters of what happened tell how the heap came to be what it is: each split makes
    /// a block more and each merge one less, each chunk was taken and is here or was given back.
    fn settle_history(&mut self, count: &Count) {
        let central = self.central;
        let made = u64::from(count.chunks) * FRESH_BLOCKS + central.splits.get();
        let there = count.blocks + central.merges.get();
        central.splits.add(there.saturating_sub(made));
        central.merges.add(made.saturating_sub(there));
        // The first chunk was there before anything grew.
        let taken = 1 + central.grows.get();
        let owned = u64::from(count.chunks + central.huge_chunks.get());
        let known = owned + central.releases.get();
        central.grows.add(known.saturating_sub(taken));
        central.releases.add(taken.saturating_sub(known));
    }

    /// Frees stray deferred blocks. `is_being_deferred` says whether a living worker is putting a
    /// block on the list; `account` sees the units of a stray before it is freed.
    pub(crate) fn free_strays(
        &mut self,
        source: &impl ChunkSource,
        is_being_deferred: impl Fn(u32) -> bool,
        account: impl Fn(u32, u32),
    ) {
        let table = &self.central.table;
        self.drain_deferred(source);
        for chunk in (1..MAX_CHUNKS as u32).map(|index| index * CHUNK_BYTES) {
            let mut address = chunk;
            // Freeing may merge what lies behind, or give the chunk back.
            while chunk_index(address) == chunk_index(chunk) {
                let kind = table.kind(chunk);
                if !matches!(kind, ChunkKind::Blocks | ChunkKind::HugeDeferred) {
                    break;
                }
                if self.deferred_extent(address).is_some() && !is_being_deferred(address) {
                    self.drain_deferred(source);
                    if let Some(extent) = self.deferred_extent(address) {
                        let units = extent.map_or_else(
                            || table.run_chunks(address).get() * CHUNK_UNITS,
                            Extent::units,
                        );
                        account(address, units);
                        // SAFETY: deferred, and no list nor living worker has it.
                        unsafe { self.free_deferred(address, extent, source) };
                    }
                }
                let Some(next) = address.checked_add(match kind {
                    ChunkKind::Blocks => UNIT_BYTES,
                    _ => CHUNK_BYTES,
                }) else {
                    break;
                };
                address = next;
            }
        }
    }
}
