//! The free objects of one order in one slot: a stack of addresses in an array.
//!
//! ```text
//!   base                 top               limit                       most
//!    ▼                    ▼                  ▼                           ▼
//!   [ a0 | a1 | a2 | a3 |    |    |  …  |    ¦  to come, for bursts …    ]   fill = (top − base) / 4
//! ```
//!
//! **Bursts.** A worker that allocates and then frees more objects than the stack holds would move
//! most of them through the layers below, each time. So a stack that overflows [widens](Lifo::widen)
//! to twice its size if at least as many objects as it holds were popped lately: what comes will be
//! wanted again. One that only ever fills does not, and if it was wide it [narrows](Lifo::only_fills).
//!
//! A pop is one comparison, a load and two stores, a push the same; no lock and no atomic
//! read-modify-write, since only the slot's own worker touches the words. Watchers read them at
//! any moment and may see a push whose top has not moved yet, or the other way round: off by one.
//!
//! **If the worker ends between two stores**, every object has one place all the same: what is below
//! the top is the stack's, whatever its byte says yet. So a pop marks the object before the top moves,
//! and a push afterwards.
//!
//! An order that is not cached has `base = top = limit`, so that both are refused by the very
//! comparisons that find a stack empty or full.

use crate::memory::Memory;
use crate::sync::{PlainU32, PlainU64};

/// Bytes of an entry.
pub(crate) const ENTRY_BYTES: u32 = 4;

/// The stack. Zeroed memory is one that is never cached.
#[repr(C, align(32))]
pub(crate) struct Lifo {
    pub(crate) top: PlainU32,
    pub(crate) base: PlainU32,
    pub(crate) limit: PlainU32,
    /// How far `limit` may be moved.
    most: PlainU32,
    /// Objects popped so far, which is allocations served. Pushes need no counter of their own:
    /// they follow from this, the fill, and what came and went in batches.
    pub(crate) pops: PlainU64,
    /// The low half of that when this began to be counted: "lately".
    popped: PlainU32,
    /// Objects spilled since then.
    spilled: PlainU32,
}

impl Lifo {
    /// Makes the stack an empty one of `capacity` objects, and of `most` if bursts need them, whose
    /// array starts at `base`.
    pub(crate) fn begin(&self, base: u32, capacity: u32, most: u32) {
        self.top.set(base);
        self.base.set(base);
        self.limit.set(base + capacity * ENTRY_BYTES);
        self.most.set(base + most * ENTRY_BYTES);
    }

    /// Objects that the stack holds now.
    pub(crate) fn capacity(&self) -> u32 {
        (self.limit.get() - self.base.get()) / ENTRY_BYTES
    }

    /// Makes the stack hold `capacity` objects, no fewer than are on it; `false` if it never may.
    pub(crate) fn resize(&self, capacity: u32) -> bool {
        debug_assert!(capacity >= self.fill());
        let may = capacity <= self.most();
        if may {
            self.limit.set(self.base.get() + capacity * ENTRY_BYTES);
        }
        may
    }

    /// Objects that the stack may ever hold.
    fn most(&self) -> u32 {
        (self.most.get() - self.base.get()) / ENTRY_BYTES
    }

    /// Objects popped lately.
    fn popped_lately(&self) -> u32 {
        (self.pops.get() as u32).wrapping_sub(self.popped.get())
    }

    /// Counts anew from now on.
    fn forget(&self) {
        self.popped.set(self.pops.get() as u32);
        self.spilled.set(0);
    }

    /// Notes that a full stack spills so many objects. Whether several times as many as it holds went
    /// through it lately and none was popped.
    pub(crate) fn only_fills(&self, spills: u32) -> bool {
        const TIMES: u32 = 4;
        self.spilled.add(spills);
        if self.spilled.get() < TIMES * self.capacity() {
            return false;
        }
        let only_fills = self.popped_lately() == 0;
        self.forget();
        only_fills
    }

    /// Makes an empty stack what it was at first: no burst is known of.
    pub(crate) fn calm(&self, capacity: u32) {
        self.resize(capacity);
        self.forget();
    }

    /// Makes the stack hold twice as many objects, up to `width`; whether it holds more now.
    pub(crate) fn widen_to(&self, width: u32) -> bool {
        let capacity = self.capacity();
        capacity < width && self.resize(width.min(2 * capacity))
    }

    /// Makes a full stack hold up to twice as many objects, if as many as it holds were popped lately;
    /// whether there is room now.
    pub(crate) fn widen_for_burst(&self) -> bool {
        let (capacity, most) = (self.capacity(), self.most());
        capacity < most && self.popped_lately() >= capacity && self.resize(most.min(2 * capacity))
    }

    /// The object pushed last, which `mark` marks as the program's.
    #[inline(always)]
    pub(crate) fn pop(&self, memory: Memory, mark: impl FnOnce(u32)) -> Option<u32> {
        let top = self.top.get();
        if top == self.base.get() {
            return None;
        }
        let entry = top - ENTRY_BYTES;
        // SAFETY: entries between base and top are this slot's own array.
        let address = unsafe { memory.at::<PlainU32>(entry) }.get();
        mark(address);
        self.top.set(entry);
        self.pops.add(1);
        Some(address)
    }

    /// Puts an object on the stack; `false` when it is full.
    #[inline(always)]
    pub(crate) fn push(&self, memory: Memory, address: u32) -> bool {
        let top = self.top.get();
        if top == self.limit.get() {
            return false;
        }
        // SAFETY: entries between base and limit are this slot's own array.
        unsafe { memory.at::<PlainU32>(top) }.set(address);
        self.top.set(top + ENTRY_BYTES);
        true
    }

    /// The object pushed last, which stays.
    pub(crate) fn peek(&self, memory: Memory) -> Option<u32> {
        if self.fill() == 0 {
            return None;
        }
        let last = self.top.get() - ENTRY_BYTES;
        // SAFETY: entries between base and top are this slot's own array.
        Some(unsafe { memory.at::<PlainU32>(last) }.get())
    }

    /// Takes that object off the stack, once it is elsewhere: no allocation, and not counted.
    pub(crate) fn drop_top(&self) {
        self.top.sub(ENTRY_BYTES);
    }

    /// Whether the order is cached at all.
    pub(crate) fn is_cached(&self) -> bool {
        self.base.get() != self.limit.get()
    }

    /// Objects on the stack: as a watcher sees it, never below 0.
    pub(crate) fn fill(&self) -> u32 {
        self.top.get().saturating_sub(self.base.get()) / ENTRY_BYTES
    }

    /// The array as far as it may be used now: first the entries in use, then the free ones.
    pub(crate) fn entries<'a>(&self, memory: Memory) -> &'a [PlainU32] {
        let base = self.base.get();
        // SAFETY: the array belongs to the slot, which lives as long as its arena.
        unsafe { memory.slice(base, (self.limit.get() - base) / ENTRY_BYTES) }
    }

    /// Says that the first `fill` entries of the array are in use.
    pub(crate) fn set_fill(&self, fill: u32) {
        self.top.set(self.base.get() + fill * ENTRY_BYTES);
    }
}
