//! A slot: a worker's seat in the arena, with its caches and counters.
//!
//! All of it is written by the worker that sits there and by nobody else, so counting costs a
//! load and a store. Whoever takes the seat next goes on with the counters where they stand,
//! so that sums over all slots never fall.

use super::lifo::{ENTRY_BYTES, Lifo};
use crate::config::MAX_CACHED_ORDERS;
use crate::lock::Context;
use crate::order::CHUNK_ORDER;
use crate::sync::{PlainU32, PlainU64};

/// The seat. Its arrays of cached objects follow it in the same block.
#[repr(C, align(64))]
pub(crate) struct Slot {
    pub(crate) lifos: [Lifo; MAX_CACHED_ORDERS as usize],
    pub(crate) traffic: [Traffic; CHUNK_ORDER as usize],
    /// Address of the arena's header.
    pub(crate) header: PlainU32,
    /// The slot's number, from 0.
    pub(crate) number: PlainU32,
    /// 1 while a worker sits here.
    pub(crate) attached: PlainU32,
    /// 1 if that worker may wait.
    pub(crate) may_wait: PlainU32,
    /// Address of the next slot nobody sits in; under the heap lock.
    pub(crate) next_free: PlainU32,
}

/// What one order of one slot exchanged with the layers below, since the slot was made.
#[repr(C)]
pub(crate) struct Traffic {
    /// Batches that came from a transfer cache.
    pub(crate) refills_from_transfer: PlainU64,
    /// Batches that came from the central heap.
    pub(crate) refills_from_heap: PlainU64,
    /// Objects in those.
    pub(crate) objects_in: PlainU64,
    /// Batches that went to a transfer cache.
    pub(crate) spills_to_transfer: PlainU64,
    /// Batches that went to the central heap.
    pub(crate) spills_to_heap: PlainU64,
    /// Objects in those, and objects that a flush returned.
    pub(crate) objects_out: PlainU64,
    /// Blocks allocated from the central heap one at a time.
    pub(crate) direct_allocations: PlainU64,
    /// Blocks freed to the central heap one at a time.
    pub(crate) direct_frees: PlainU64,
}

impl Slot {
    /// Bytes of a slot with its arrays.
    pub(crate) const fn bytes(cached_orders: u32, capacity: u32) -> u32 {
        size_of::<Self>() as u32 + cached_orders * capacity * ENTRY_BYTES
    }

    /// Makes zeroed memory at `address` a slot with empty caches.
    pub(crate) fn begin(
        &self,
        address: u32,
        number: u32,
        header: u32,
        cached_orders: u32,
        capacity: u32,
    ) {
        self.number.set(number);
        self.header.set(header);
        let arrays = address + Self::bytes(0, 0);
        for (order, lifo) in (0..cached_orders).zip(&self.lifos) {
            lifo.begin(arrays + order * capacity * ENTRY_BYTES, capacity);
        }
    }

    pub(crate) fn context(&self) -> Context {
        if self.may_wait.get() != 0 {
            Context::MayWait
        } else {
            Context::NoWait
        }
    }

    /// Allocations that the cache of `order` served.
    pub(crate) fn allocations(&self, order: usize) -> u64 {
        self.lifos[order].pops.get()
    }

    /// Frees that the cache of `order` took: what went in less what came by batches.
    pub(crate) fn frees(&self, order: usize) -> u64 {
        let (lifo, traffic) = (&self.lifos[order], &self.traffic[order]);
        (lifo.pops.get() + u64::from(lifo.fill()) + traffic.objects_out.get())
            .saturating_sub(traffic.objects_in.get())
    }
}
