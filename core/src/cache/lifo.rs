//! The free objects of one order in one slot: a stack of addresses in an array.
//!
//! ```text
//!   base                 top               limit
//!    ▼                    ▼                  ▼
//!   [ a0 | a1 | a2 | a3 |    |    |  …  |    ]      fill = (top − base) / 4
//! ```
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
    /// Objects popped so far, which is allocations served. Pushes need no counter of their own:
    /// they follow from this, the fill, and what came and went in batches.
    pub(crate) pops: PlainU64,
}

impl Lifo {
    /// Makes the stack an empty one of `capacity` objects whose array starts at `base`.
    pub(crate) fn begin(&self, base: u32, capacity: u32) {
        self.top.set(base);
        self.base.set(base);
        self.limit.set(base + capacity * ENTRY_BYTES);
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
        let last = self.fill().checked_sub(1)?;
        Some(self.entries(memory)[last as usize].get())
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

    /// The whole array: first the entries in use, then the free ones.
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
