//! Figures of an arena that add up.
//!
//! `free + allocated + cached + in_transfer + deferred + metadata = owned`, always: what is not
//! free, not in a cache and not the allocator's own is in the program's hands. While workers run
//! the figures are a sample, off by the objects in flight, and never negative. Taking them locks
//! nothing and stops nobody: every figure is one that its layer keeps anyway, where it holds a lock
//! or owns a slot.

use crate::header::Header;
use crate::heap::central::Central;
use crate::memory::Memory;
use crate::order::{CHUNK_BYTES, CHUNK_ORDER, UNIT_BYTES, block_bytes};
use crate::order_stats::OrderStats;
use crate::slot_stats::SlotStats;

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
    /// Bytes of the largest block on the central heap's free lists.
    pub largest_free_bytes: u64,
    /// Most bytes that the arena ever owned.
    pub peak_owned_bytes: u64,
    /// Most bytes that were ever out of the central heap: allocated, cached, in transfer or
    /// deferred.
    pub peak_out_bytes: u64,
    /// Checking mode: bytes that were asked for and are not freed.
    pub requested_bytes: Option<u64>,
    /// Checking mode: how often memory was found written where nobody should have.
    pub damages: u64,
    /// The same by order of the blocks, from 16 B to 512 KiB.
    pub orders: [OrderStats; CHUNK_ORDER as usize],
}

/// How much of the allocated bytes nobody asked for: a share, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rounding {
    /// In checking mode, from the sizes that were asked for.
    Measured(f64),
    /// Otherwise, as if all sizes of an order were equally frequent: a quarter of a block, and
    /// rather less than half of one of 16 bytes. Huge blocks count as full.
    Estimated(f64),
}

impl Stats {
    /// Of all allocations of single blocks, the share that the worker's own cache served without a
    /// refill; none when there were none.
    pub fn cache_hit_rate(&self) -> Option<f64> {
        share(
            self.cache_hits,
            self.cache_allocations + self.direct_allocations,
        )
    }

    /// Of the refills, the share that a transfer cache served.
    pub fn refill_hit_rate(&self) -> Option<f64> {
        let refills = self.refills_from_transfer + self.refills_from_heap;
        share(self.refills_from_transfer, refills)
    }

    /// Of the spills, the share that a transfer cache took.
    pub fn spill_hit_rate(&self) -> Option<f64> {
        let spills = self.spills_to_transfer + self.spills_to_heap;
        share(self.spills_to_transfer, spills)
    }

    /// External fragmentation: the share of the free bytes that is not in the largest free block.
    /// None where nothing is free. A chunk that is wholly free consists of several blocks, so this
    /// is about a half even there.
    pub fn external_fragmentation(&self) -> Option<f64> {
        Some(
            1.0 - share(
                self.largest_free_bytes.min(self.free_bytes),
                self.free_bytes,
            )?,
        )
    }

    /// Internal fragmentation: the share of the allocated bytes that nobody asked for. None where
    /// nothing is allocated.
    pub fn internal_fragmentation(&self) -> Option<Rounding> {
        if let Some(requested) = self.requested_bytes {
            return share(self.allocated_bytes - requested, self.allocated_bytes)
                .map(Rounding::Measured);
        }
        let unasked: u64 = self.orders.iter().map(OrderStats::likely_padding).sum();
        share(unasked.min(self.allocated_bytes), self.allocated_bytes).map(Rounding::Estimated)
    }

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
            largest_free_bytes: central
                .lists
                .largest()
                .map_or(0, |order| block_bytes(order).into()),
            peak_owned_bytes: u64::from(central.peak_chunks.get()) * u64::from(CHUNK_BYTES),
            peak_out_bytes: u64::from(central.peak_out_units.get()) * u64::from(UNIT_BYTES),
            orders: OrderStats::sample(header, memory),
            ..Self::default()
        };
        for slot in header.slots.iter(memory) {
            let part = SlotStats::sample(slot, memory);
            stats.workers += u32::from(part.attached);
            stats.cache_allocations += part.cache_allocations;
            stats.cache_frees += part.cache_frees;
            stats.cache_hits += part.cache_hits;
            stats.refills_from_transfer += part.refills_from_transfer;
            stats.refills_from_heap += part.refills_from_heap;
            stats.spills_to_transfer += part.spills_to_transfer;
            stats.spills_to_heap += part.spills_to_heap;
            stats.direct_allocations += part.direct_allocations;
            stats.direct_frees += part.direct_frees;
            if let Some(checked) = slot.checked(memory) {
                let before = stats.requested_bytes.unwrap_or(0);
                stats.requested_bytes = Some(before.wrapping_add(checked.requested.get()));
                stats.damages += checked.damages.get();
            }
        }
        for order in &stats.orders {
            stats.cached_bytes += order.cached_objects * u64::from(order.block_bytes);
            stats.in_transfer_bytes += order.in_transfer_objects * u64::from(order.block_bytes);
        }
        stats.split_owned(central, deferred_units(header, memory).into());
        stats
    }

    /// Shares out the bytes owned so that the parts add up to them, whatever moved meanwhile.
    fn split_owned(&mut self, central: &Central, deferred_units: u64) {
        let unit = u64::from(UNIT_BYTES);
        self.owned_bytes = u64::from(self.chunks + self.huge_chunks) * u64::from(CHUNK_BYTES);
        self.free_bytes = u64::from(central.free_units.get()) * unit;
        self.metadata_bytes = u64::from(central.metadata_units.get()) * unit;
        self.deferred_bytes = deferred_units * unit;
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
        // While workers run the sum can be off, by what is in flight.
        self.requested_bytes = self.requested_bytes.map(|bytes| bytes.min(rest));
    }
}

/// Units on the deferred list: what slots put there less what was drained. While workers run, a
/// sample may catch the second before the first.
pub(crate) fn deferred_units(header: &Header, memory: Memory) -> u32 {
    let drained = header.central.deferred.drained_units.get();
    let units = header
        .slots
        .iter(memory)
        .fold(drained.wrapping_neg(), |sum, slot| {
            sum.wrapping_add(slot.deferring.units.get())
        });
    (units as i32).max(0) as u32
}

/// `part` of `whole`, or none where the whole is nothing.
pub(crate) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
