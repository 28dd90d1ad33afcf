//! Figures of an arena that add up.
//!
//! `free + allocated + cached + in_transfer + deferred + metadata = owned`, always: what is not
//! free, not in a cache and not the allocator's own is in the program's hands. While workers run
//! the figures are a sample, off by the objects in flight, and never negative. Taking them locks
//! nothing and stops nobody.

use crate::header::Header;
use crate::heap::central::Central;
use crate::memory::Memory;
use crate::order::{CHUNK_BYTES, CHUNK_ORDER, UNIT_BYTES, block_bytes};

/// Bytes by state, and what the layers did since the arena was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "camelCase")
)]
pub struct Stats {
    /// Chunks of 1 MiB that are cut into blocks.
    pub chunks: u32,
    /// Chunks of 1 MiB in huge blocks.
    pub huge_chunks: u32,
    /// Workers attached.
    pub workers: u32,
    /// Bytes of all chunks.
    pub owned_bytes: u64,
    /// Bytes on the central heap's free lists.
    pub free_bytes: u64,
    /// Bytes of the blocks in the program's hands.
    pub allocated_bytes: u64,
    /// Bytes in workers' caches.
    pub cached_bytes: u64,
    /// Bytes in transfer caches.
    pub in_transfer_bytes: u64,
    /// Bytes on the deferred list.
    pub deferred_bytes: u64,
    /// Bytes of block maps, header, slots and tables.
    pub metadata_bytes: u64,
    /// Allocations that a cache served, refilled or not.
    pub cache_allocations: u64,
    /// Frees that a cache took, with a spill or without.
    pub cache_frees: u64,
    /// Allocations that needed nothing but the worker's own cache.
    pub cache_hits: u64,
    /// Batches that refilled a cache from a transfer cache.
    pub refills_from_transfer: u64,
    /// Batches that refilled a cache from the central heap.
    pub refills_from_heap: u64,
    /// Batches that a full cache left in a transfer cache.
    pub spills_to_transfer: u64,
    /// Batches that a full cache left in the central heap.
    pub spills_to_heap: u64,
    /// Blocks allocated from the central heap one at a time.
    pub direct_allocations: u64,
    /// Blocks freed to the central heap one at a time.
    pub direct_frees: u64,
    /// Objects that came back by way of the deferred list.
    pub deferred_frees: u64,
    /// Blocks halved.
    pub splits: u64,
    /// Buddies joined.
    pub merges: u64,
    /// Chunks taken from the source.
    pub grows: u64,
    /// Chunks given back to the source.
    pub releases: u64,
    /// Times that the heap lock was taken.
    pub heap_locks: u64,
}

impl Stats {
    pub(crate) fn sample(header: &Header, memory: Memory) -> Self {
        let central: &Central = &header.central;
        let mut stats = Self {
            chunks: central.chunks.get(),
            huge_chunks: central.huge_chunks.get(),
            deferred_frees: central.drained.get(),
            splits: central.splits.get(),
            merges: central.merges.get(),
            grows: central.grows.get(),
            releases: central.releases.get(),
            heap_locks: central.locks.get(),
            ..Self::default()
        };
        for slot in header.slots.iter(memory) {
            stats.workers += slot.attached.get();
            for order in 0..CHUNK_ORDER as usize {
                stats.cached_bytes +=
                    u64::from(slot.held(memory, order)) * u64::from(block_bytes(order as u32));
                stats.cache_allocations += slot.allocations(memory, order);
                stats.cache_frees += slot.frees(memory, order);
            }
            for traffic in &slot.traffic {
                stats.refills_from_transfer += traffic.refills_from_transfer.get();
                stats.refills_from_heap += traffic.refills_from_heap.get();
                stats.spills_to_transfer += traffic.spills_to_transfer.get();
                stats.spills_to_heap += traffic.spills_to_heap.get();
                stats.direct_allocations += traffic.direct_allocations.get();
                stats.direct_frees += traffic.direct_frees.get();
            }
        }
        stats.cache_hits = stats
            .cache_allocations
            .saturating_sub(stats.refills_from_transfer + stats.refills_from_heap);
        for (order, transfer) in header.transfers.iter().enumerate() {
            stats.in_transfer_bytes +=
                u64::from(transfer.count.get()) * u64::from(block_bytes(order as u32));
        }
        stats.split_owned(central);
        stats
    }

    /// Shares out the bytes owned so that the parts add up to them, whatever moved meanwhile.
    fn split_owned(&mut self, central: &Central) {
        let unit = u64::from(UNIT_BYTES);
        self.owned_bytes = u64::from(self.chunks + self.huge_chunks) * u64::from(CHUNK_BYTES);
        self.free_bytes = u64::from(central.free_units.get()) * unit;
        self.metadata_bytes = u64::from(central.metadata_units.get()) * unit;
        self.deferred_bytes = u64::from(central.deferred.units()) * unit;
        let mut rest = self.owned_bytes;
        for part in [
            &mut self.metadata_bytes,
            &mut self.free_bytes,
            &mut self.cached_bytes,
            &mut self.in_transfer_bytes,
            &mut self.deferred_bytes,
        ] {
            *part = (*part).min(rest);
            rest -= *part;
        }
        self.allocated_bytes = rest;
    }
}
