//! Figures of one slot.

use crate::cache::slot::Slot;
use crate::memory::Memory;
use crate::order::{CHUNK_ORDER, block_bytes};
use crate::stats::share;

/// What one slot holds, and what the workers in it did since it was made. A sample, as
/// [`Stats`](crate::Stats) is, whose figures are the sums of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "camelCase")
)]
pub struct SlotStats {
    /// The slot's number, from 0.
    pub slot: u32,
    /// Whether a worker sits there.
    pub attached: bool,
    /// The number of the agent whose worker it is ([`agent_number`](crate::agent_number)); 0: nobody
    /// sits there.
    pub agent: u32,
    /// Bytes in its cache, and in checking mode in its quarantine.
    pub cached_bytes: u64,
    /// Allocations that its cache served, refilled or not.
    pub cache_allocations: u64,
    /// Frees that its cache took.
    pub cache_frees: u64,
    /// Allocations that needed nothing but its cache.
    pub cache_hits: u64,
    /// Batches that came from a transfer cache.
    pub refills_from_transfer: u64,
    /// Batches that came from the central heap.
    pub refills_from_heap: u64,
    /// Batches that went to a transfer cache.
    pub spills_to_transfer: u64,
    /// Batches that went to the central heap.
    pub spills_to_heap: u64,
    /// Blocks allocated from the central heap one at a time.
    pub direct_allocations: u64,
    /// Blocks freed to the central heap one at a time.
    pub direct_frees: u64,
}

impl SlotStats {
    pub(crate) fn sample(slot: &Slot, memory: Memory) -> Self {
        let mut stats = Self {
            slot: slot.number.get(),
            attached: slot.agent() != 0,
            agent: slot.agent(),
            ..Self::default()
        };
        for order in 0..CHUNK_ORDER as usize {
            let traffic = &slot.traffic[order];
            let held = u64::from(slot.held(memory, order));
            stats.cached_bytes += held * u64::from(block_bytes(order as u32));
            stats.cache_allocations += slot.allocations(memory, order);
            stats.cache_frees += slot.frees(memory, order);
            stats.refills_from_transfer += traffic.refills_from_transfer.get();
            stats.refills_from_heap += traffic.refills_from_heap.get();
            stats.spills_to_transfer += traffic.spills_to_transfer.get();
            stats.spills_to_heap += traffic.spills_to_heap.get();
            stats.direct_allocations += traffic.direct_allocations.get();
            stats.direct_frees += traffic.direct_frees.get();
        }
        stats.cache_hits = stats
            .cache_allocations
            .saturating_sub(stats.refills_from_transfer + stats.refills_from_heap);
        stats
    }

    /// Of all its allocations of single blocks, the share that its cache served without a refill;
    /// none when there were none.
    pub fn cache_hit_rate(&self) -> Option<f64> {
        share(
            self.cache_hits,
            self.cache_allocations + self.direct_allocations,
        )
    }
}
