//! Figures of an arena by order of its blocks.

use crate::header::Header;
use crate::heap::extent::Extent;
use crate::memory::Memory;
use crate::order::{CHUNK_ORDER, block_bytes, order_of};

/// The blocks of one order, whole or cut short: objects times `block_bytes` are their bytes up to 4 KiB,
/// and more than those above it. A sample, as [`Stats`](crate::Stats) is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "camelCase")
)]
pub struct OrderStats {
    /// Bytes of a whole block.
    pub block_bytes: u32,
    /// Blocks in the program's hands, or on the deferred list.
    pub allocated_objects: u64,
    /// Blocks in workers' caches, and in checking mode in their quarantines.
    pub cached_objects: u64,
    /// Blocks in the transfer cache.
    pub in_transfer_objects: u64,
    /// Allocations so far, but for those in bulk.
    pub allocations: u64,
    /// Frees so far, but for those that were deferred.
    pub frees: u64,
}

impl OrderStats {
    pub(crate) fn sample(header: &Header, memory: Memory) -> [Self; CHUNK_ORDER as usize] {
        core::array::from_fn(|order| {
            let mut stats = Self {
                block_bytes: block_bytes(order as u32),
                in_transfer_objects: header
                    .transfers
                    .get(order)
                    .map_or(0, |transfer| transfer.count.get().into()),
                ..Self::default()
            };
            for slot in header.slots.iter(memory) {
                let traffic = &slot.traffic[order];
                stats.cached_objects += u64::from(slot.held(memory, order));
                stats.allocations +=
                    slot.allocations(memory, order) + traffic.direct_allocations.get();
                stats.frees += slot.frees(memory, order) + traffic.direct_frees.get();
            }
            stats.allocated_objects = u64::from(header.central.out[order].get())
                .saturating_sub(stats.cached_objects + stats.in_transfer_objects);
            stats
        })
    }

    /// Bytes that nobody asked for, if every size that takes such a block is equally frequent.
    pub(crate) fn likely_padding(&self) -> u64 {
        let order = order_of(self.block_bytes);
        self.allocated_objects * u64::from(Extent::padding_of_two(order)) / 2
    }
}
