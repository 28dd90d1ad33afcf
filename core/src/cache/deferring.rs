//! The object that a worker is putting on the deferred list, by name: so that it is found if the
//! worker ends before it is there, and is left alone while the worker lives.
//!
//! ```text
//!   worker   name it ─▶ mark it deferred ─▶ count it ─▶ push it ─▶ name none
//!   reaper   drain ─▶ marked? ─▶ does a living worker name it? ─▶ drain ─▶ still marked? a stray
//! ```
//!
//! **Ordering.** The name is written before the mark, with a release fence between, and read after
//! it, behind an acquire fence: who sees the mark sees the name, or that it is gone. It goes by a
//! release after the push: who sees that it is gone finds the object on the list, and the second
//! drain takes it. Nobody can mark it again before it was drained and handed out, which takes the
//! heap lock, and that is the reaper's. So what is still marked then was never pushed, or was taken
//! off the list by a holder of the lock that ended; and its worker ended too, or had long gone on.

use crate::sync::{AtomicU32, Ordering, PlainU32, fence};

/// The name, and the count of what a worker deferred. Zeroed memory is none.
#[repr(C)]
pub(crate) struct Deferring {
    /// The object, or 0.
    name: AtomicU32,
    /// Units put on the list so far; wraps.
    pub(crate) units: PlainU32,
    /// What that was before the object of this name.
    units_before: PlainU32,
}

impl Deferring {
    /// Names the object at `address` while `mark` marks it, its `units` are counted, and `push` puts
    /// it on the list.
    pub(crate) fn defer(&self, address: u32, units: u32, mark: impl FnOnce(), push: impl FnOnce()) {
        self.begin(address);
        mark();
        self.units.set(self.units.get().wrapping_add(units));
        push();
        self.end();
    }

    /// Names the object at `address`, which is about to be marked.
    pub(crate) fn begin(&self, address: u32) {
        self.units_before.set(self.units.get());
        self.name.store(address, Ordering::Relaxed);
        fence(Ordering::Release);
    }

    /// Names none any more.
    pub(crate) fn end(&self) {
        self.name.store(0, Ordering::Release);
    }

    /// The object that is named, or 0: for who has seen it marked.
    pub(crate) fn name(&self) -> u32 {
        fence(Ordering::Acquire);
        self.name.load(Ordering::Acquire)
    }

    /// Counts the object of this name, of `units`, whether its worker got so far or not.
    pub(crate) fn settle(&self, units: u32) {
        self.units.set(self.units_before.get().wrapping_add(units));
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::heap::deferred::Deferred;
    use loom::sync::Arc;

    const FREE: u32 = 0;
    const ALLOCATED: u32 = 1;
    const DEFERRED: u32 = 2;

    struct Shared {
        list: Deferred,
        /// What the one object is: its byte in the block map.
        state: PlainU32,
        link: PlainU32,
        living: Deferring,
    }

    impl Shared {
        /// Frees what is on the list; how often that was the object.
        fn drain(&self) -> u32 {
            let drained = self.list.take_all();
            if drained != 0 {
                assert_eq!(self.state.get(), DEFERRED);
                self.state.set(FREE);
            }
            u32::from(drained != 0)
        }
    }

    /// A living worker defers an object while somebody reaps another agent: it is freed once, by the
    /// reaper's drains or by whoever drains later, and never as a stray.
    #[test]
    fn the_living_keep_what_they_defer() {
        loom::model(|| {
            let shared = Arc::new(Shared {
                list: Deferred::new(),
                state: PlainU32::new(ALLOCATED),
                link: PlainU32::new(0),
                living: Deferring {
                    name: AtomicU32::new(0),
                    units: PlainU32::new(0),
                    units_before: PlainU32::new(0),
                },
            });
            let worker = shared.clone();
            let defers = loom::thread::spawn(move || {
                worker.living.defer(
                    1,
                    1,
                    || worker.state.set(DEFERRED),
                    || worker.list.push(1, |next| worker.link.set(next)),
                );
            });
            let mut freed = shared.drain();
            if shared.state.get() == DEFERRED && shared.living.name() != 1 {
                freed += shared.drain();
                assert_ne!(shared.state.get(), DEFERRED, "taken for a stray");
            }
            defers.join().unwrap();
            freed += shared.drain();
            assert_eq!((freed, shared.state.get()), (1, FREE));
        });
    }
}
