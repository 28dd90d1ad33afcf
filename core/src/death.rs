//! For tests only (feature `death`): an agent that ends before any store to shared memory that a test
//! chooses, as one does that is killed.
//!
//! Every write of a shared word is a [`step`]. When the chosen number of steps is used up the agent
//! ends: it writes nothing any more, whatever it still executes, and what it had written stays.
//!
//! | where | how it ends |
//! | --- | --- |
//! | native | by unwinding to the test, which catches [`Death`]; nothing that unwinding runs writes |
//! | wasm | it says so in [`STALLED`] and stands still for the test to terminate it |

/// Without the feature nobody ends, and this is nothing.
#[cfg(not(feature = "death"))]
#[inline(always)]
pub(crate) fn step() -> bool {
    true
}

#[cfg(all(feature = "death", not(target_family = "wasm")))]
mod mortal {
    extern crate std;
    use core::cell::Cell;
    use std::boxed::Box;

    /// What an agent that ends unwinds with.
    #[derive(Debug)]
    pub struct Death;

    #[derive(Clone, Copy)]
    enum Life {
        Immortal,
        Writes(u32),
        Over,
    }

    std::thread_local! {
        static LIFE: Cell<Life> = const { Cell::new(Life::Immortal) };
    }

    /// The calling agent ends instead of its write number `writes`, counted from 0 and from now on;
    /// with `None` it lives on.
    pub fn die_at(writes: Option<u32>) {
        LIFE.set(writes.map_or(Life::Immortal, Life::Writes));
    }

    /// Whether the calling agent has ended.
    pub(crate) fn is_over() -> bool {
        matches!(LIFE.get(), Life::Over)
    }

    /// A write is about to happen; `false` when it must not.
    pub(crate) fn step() -> bool {
        match LIFE.get() {
            Life::Immortal => true,
            Life::Writes(0) => {
                LIFE.set(Life::Over);
                std::panic::resume_unwind(Box::new(Death));
            }
            Life::Writes(left) => {
                LIFE.set(Life::Writes(left - 1));
                true
            }
            Life::Over => false,
        }
    }
}

#[cfg(all(feature = "death", target_family = "wasm"))]
mod mortal {
    use core::cell::Cell;
    use core::sync::atomic::{AtomicU32, Ordering};

    /// How many agents stand still, in all.
    pub static STALLED: AtomicU32 = AtomicU32::new(0);

    #[thread_local]
    static WRITES: Cell<u32> = Cell::new(u32::MAX);

    /// The calling agent stands still instead of its write number `writes`, counted from 0 and from
    /// now on; with `None` it goes on.
    pub fn die_at(writes: Option<u32>) {
        WRITES.set(writes.unwrap_or(u32::MAX));
    }

    /// A write is about to happen. Returns `true`, or never.
    pub(crate) fn step() -> bool {
        // Before it has thread-local data an agent has no number of writes either.
        if !crate::agent::has_thread_local_data() || WRITES.get() == u32::MAX {
            return true;
        }
        match WRITES.get().checked_sub(1) {
            Some(left) => WRITES.set(left),
            None => {
                STALLED.fetch_add(1, Ordering::SeqCst);
                loop {
                    core::hint::spin_loop();
                }
            }
        }
        true
    }
}

#[cfg(all(feature = "death", not(target_family = "wasm")))]
pub use mortal::Death;
#[cfg(all(feature = "death", target_family = "wasm"))]
pub use mortal::STALLED;
#[cfg(feature = "death")]
pub use mortal::die_at;
#[cfg(all(feature = "death", not(target_family = "wasm")))]
pub(crate) use mortal::is_over;
#[cfg(feature = "death")]
pub(crate) use mortal::step;
