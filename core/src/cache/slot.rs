//! A slot: a worker's seat in the arena, with its caches and counters.
//!
//! All of it is written by the worker that sits there and by nobody else, so counting costs a
//! load and a store. Whoever takes the seat next goes on with the counters where they stand,
//! so that sums over all slots never fall.

use super::checked::{self, Checked};
use super::deferring::Deferring;
use super::lifo::{ENTRY_BYTES, Lifo};
use crate::agent::Agent;
use crate::config::{Config, MAX_CACHED_ORDERS};
use crate::lock::Context;
use crate::memory::Memory;
use crate::order::CHUNK_ORDER;
use crate::sync::{AtomicU32, Ordering, PlainU32, PlainU64, SettledU32};

/// The seat. Its arrays of cached objects follow it in the same block; in checking mode a
/// [`Checked`] with its own does.
#[repr(C, align(64))]
pub(crate) struct Slot {
    pub(crate) lifos: [Lifo; MAX_CACHED_ORDERS as usize],
    pub(crate) traffic: [Traffic; CHUNK_ORDER as usize],
    /// Address of the arena's header.
    pub(crate) header: SettledU32,
    /// The slot's number, from 0.
    pub(crate) number: PlainU32,
    /// The number of the agent whose worker sits here; 0: nobody. Of a standing seat written by
    /// whoever wants it, else under the heap lock.
    pub(crate) attached: AtomicU32,
    /// 1 if that worker may wait.
    pub(crate) may_wait: PlainU32,
    /// 0, or in checking mode the address of the slot's [`Checked`].
    pub(crate) checked: PlainU32,
    /// Address of the next slot nobody sits in; under the heap lock.
    pub(crate) next_free: PlainU32,
    pub(crate) deferring: Deferring,
    /// 1 while the slot is being reaped; under the heap lock.
    pub(crate) dying: PlainU32,
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
    pub(crate) const fn bytes(config: &Config) -> u32 {
        size_of::<Self>() as u32
            + if config.checking {
                Checked::bytes(config)
            } else {
                config.most_cached_of_all() * ENTRY_BYTES
            }
    }

    /// Makes zeroed memory at `address` a slot with empty caches.
    pub(crate) fn begin(
        &self,
        memory: Memory,
        address: u32,
        number: u32,
        header: u32,
        config: &Config,
    ) {
        self.number.set(number);
        // SAFETY: the slot is in no directory yet.
        unsafe { self.header.settle(header) };
        let behind = address + size_of::<Self>() as u32;
        if config.checking {
            self.checked.set(behind);
            if let Some(checked) = self.checked(memory) {
                checked.begin(behind, config);
            }
            return;
        }
        let mut array = behind;
        for (order, lifo) in (0..config.cached_orders).zip(&self.lifos) {
            let most = config.most_cached(order);
            lifo.begin(array, config.capacity, most);
            array += most * ENTRY_BYTES;
        }
    }

    /// The number of the agent whose worker sits here; 0: nobody.
    pub(crate) fn agent(&self) -> u32 {
        self.attached.load(Ordering::Relaxed)
    }

    /// Seats a worker of `agent`, which may wait or not, where nobody sits.
    pub(crate) fn sit(&self, agent: Agent, context: Context) {
        self.may_wait.set((context == Context::MayWait).into());
        self.attached.store(agent.number(), Ordering::Relaxed);
    }

    /// Seats a worker of `agent` in a standing seat if nobody is there; whether nobody was. What the
    /// one before did there is visible then.
    #[cfg(not(loom))]
    pub(crate) fn stand(&self, agent: Agent, context: Context) -> bool {
        let number = agent.number();
        let free = self
            .attached
            .compare_exchange(0, number, Ordering::Acquire, Ordering::Relaxed)
            .is_ok();
        if free {
            self.may_wait.set((context == Context::MayWait).into());
        }
        free
    }

    /// Nobody sits here any more.
    pub(crate) fn vacate(&self) {
        self.attached.store(0, Ordering::Release);
    }

    /// What the slot has more in checking mode.
    #[inline]
    pub(crate) fn checked<'a>(&self, memory: Memory) -> Option<&'a Checked> {
        if !checked::is_in_use() {
            return None;
        }
        let address = self.checked.get();
        // SAFETY: the slot was made with that part behind it, which lives as long as the arena.
        (address != 0).then(|| unsafe { memory.at(address) })
    }

    /// What the order exchanged with the layers below. Orders are below the number of them; the
    /// remainder leaves out the code, and the message, for one that is not.
    #[inline(always)]
    pub(crate) fn traffic(&self, order: u32) -> &Traffic {
        debug_assert!(order < CHUNK_ORDER);
        &self.traffic[(order % CHUNK_ORDER) as usize]
    }

    /// The stacks that are in use.
    pub(crate) fn stacks(&self, memory: Memory) -> &[Lifo; MAX_CACHED_ORDERS as usize] {
        self.checked(memory)
            .map_or(&self.lifos, |checked| &checked.lifos)
    }

    /// Objects of `order` that the slot holds: in its stack and in its quarantine.
    pub(crate) fn held(&self, memory: Memory, order: usize) -> u32 {
        let stacked = self.stacks(memory).get(order).map_or(0, Lifo::fill);
        let checked = self.checked(memory);
        stacked + checked.map_or(0, |checked| checked.quarantine.objects[order].get())
    }

    pub(crate) fn context(&self) -> Context {
        if self.may_wait.get() != 0 {
            Context::MayWait
        } else {
            Context::NoWait
        }
    }

    /// Allocations that the cache of `order` served.
    pub(crate) fn allocations(&self, memory: Memory, order: usize) -> u64 {
        let stack = self.stacks(memory).get(order);
        stack.map_or(0, |lifo| lifo.pops.get())
    }

    /// Frees that the cache of `order` took: what went in less what came by batches.
    pub(crate) fn frees(&self, memory: Memory, order: usize) -> u64 {
        let traffic = &self.traffic[order];
        let held = u64::from(self.held(memory, order));
        (self.allocations(memory, order) + held + traffic.objects_out.get())
            .saturating_sub(traffic.objects_in.get())
    }
}
