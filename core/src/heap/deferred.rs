//! The deferred list: frees that could not take the heap lock, until somebody who holds it comes by.
//!
//! A lock-free stack, linked through the first word of the objects themselves. Pushing is a
//! compare-and-swap of the head, draining one exchange that takes the whole stack, so no pop ever
//! compares a head that may have left and come back: there is no ABA.
//!
//! **Ordering.** A push releases, a drain acquires: whoever drains sees each object's link and its
//! map byte as its pusher left them. An object is validated, and marked [`Deferred`], before it is
//! linked: a second free of it is refused, and nothing is written through a pointer that is not
//! an allocated block.
//!
//! **If a worker ends** between marking its object and linking it, or the lock's holder after it took
//! the chain, objects are marked and on no list. Nothing tells them from those that others are just
//! pushing, but for the word that each slot keeps of the object it is pushing: see
//! [`recovery`](super::recovery).
//!
//! [`Deferred`]: super::block::BlockState::Deferred

use crate::sync::{AtomicU32, Ordering, PlainU32};

/// The list. Zeroed memory is an empty one.
#[repr(C)]
pub(crate) struct Deferred {
    head: AtomicU32,
    /// Units drained so far; wraps. Slots count what they push, so the difference is on the list.
    pub(crate) drained_units: PlainU32,
    /// The block that the lock's holder is freeing off the list, or 0.
    pub(crate) draining: PlainU32,
    /// What `drained_units` will be when that one is free.
    pub(crate) drained_units_then: PlainU32,
}

impl Deferred {
    /// An empty list outside any arena.
    #[cfg(all(test, loom))]
    pub(crate) fn new() -> Self {
        Self {
            head: AtomicU32::new(0),
            drained_units: PlainU32::new(0),
            draining: PlainU32::new(0),
            drained_units_then: PlainU32::new(0),
        }
    }

    /// Puts the object at `address` on the list; `link` writes the address of the next one into it.
    pub(crate) fn push(&self, address: u32, link: impl Fn(u32)) {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            link(head);
            match self
                .head
                .compare_exchange(head, address, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(found) => head = found,
            }
        }
    }

    /// Empties the list and returns what was its head: 0, or the first of a chain that is now the
    /// caller's. Costs a load where there is nothing.
    #[inline]
    pub(crate) fn take_all(&self) -> u32 {
        if self.head.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        self.head.swap(0, Ordering::Acquire)
    }

    /// Has `free` free the block at `address`, of `units`, and counts it as drained: once, wherever
    /// the holder of the lock may end. Under the heap lock.
    pub(crate) fn drain(&self, address: u32, units: u32, free: impl FnOnce()) {
        let then = self.drained_units.get().wrapping_add(units);
        self.drained_units_then.set(then);
        self.draining.set(address);
        free();
        self.drained_units.set(then);
        self.draining.set(0);
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;

    const OBJECTS: usize = 3;

    struct Shared {
        list: Deferred,
        links: [PlainU32; OBJECTS],
    }

    /// Objects are 1, 2, 3; returns those of the chain, as bits.
    fn drain(shared: &Shared) -> u32 {
        let mut seen = 0;
        let mut object = shared.list.take_all();
        while object != 0 {
            assert_eq!(seen & 1 << object, 0, "an object twice in one chain");
            seen |= 1 << object;
            object = shared.links[object as usize - 1].get();
        }
        seen
    }

    /// Two workers defer, one of them two objects, while the holder of the lock drains: every
    /// object comes out exactly once, then or at the end. Three forced switches at any points.
    #[test]
    fn every_object_is_drained_once() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let shared = Arc::new(Shared {
                list: Deferred::new(),
                links: core::array::from_fn(|_| PlainU32::new(0)),
            });
            let push = |shared: &Shared, object: u32| {
                let link = |next| shared.links[object as usize - 1].set(next);
                shared.list.push(object, link);
            };
            // The draining thread comes after the others in the order that loom tries first: an early
            // load that finds nothing would otherwise never be tried behind their exchanges.
            let other = shared.clone();
            let pusher = loom::thread::spawn(move || push(&other, 1));
            let drained = shared.clone();
            let drainer = loom::thread::spawn(move || drain(&drained));
            [2, 3].into_iter().for_each(|object| push(&shared, object));
            pusher.join().unwrap();
            let early = drainer.join().unwrap();
            let late = drain(&shared);
            assert_eq!((early & late, early | late), (0, 0b1110));
        });
    }
}
