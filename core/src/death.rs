//! For tests only (feature `death`): an agent that ends before any store to shared memory that a test
//! chooses, as one does that is killed.
//!
//! Every write of a shared word is a [`step`]. When the chosen number of steps is used up the agent
//! ends: it writes nothing any more, whatever it still executes, and what it had written stays.
//!
//! | where | how it ends |
//! | --- | --- |
//! | native | by unwinding to the test, which catches [`Death`]; nothing that unwinding runs writes |
//! | wasm | it says so in [`STALLED`] and stands still, until it is terminated or [told](GO_ON) to go on |

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

    /// A number of writes that nobody comes to.
    const IMMORTAL: u32 = u32::MAX;

    /// How many agents have come to stand still, in all.
    pub static STALLED: AtomicU32 = AtomicU32::new(0);

    /// Those that stand still go on when it changes.
    pub static GO_ON: AtomicU32 = AtomicU32::new(0);

    /// Writes until an agent stands still that has no thread-local data: one that starts or ends, of
    /// which there is one at a time.
    pub static STARTING_WRITES: AtomicU32 = AtomicU32::new(IMMORTAL);

    #[thread_local]
    static WRITES: Cell<u32> = Cell::new(IMMORTAL);

    #[thread_local]
    static WAITS: Cell<u32> = Cell::new(0);

    /// The calling agent stands still instead of its write number `writes`, counted from 0 and from
    /// now on; with `None` it goes on.
    pub fn die_at(writes: Option<u32>) {
        WRITES.set(writes.unwrap_or(IMMORTAL));
    }

    /// Writes that the calling agent does until it stands still, as [`die_at`] was told.
    pub fn writes_left() -> u32 {
        WRITES.get()
    }

    /// A write is about to happen. Returns `true`, once it may.
    ///
    /// Out of line: Node 20's first compiler goes wrong in the loops of a function that this is part of.
    #[inline(never)]
    pub(crate) fn step() -> bool {
        // Before it has thread-local data an agent has no number of writes either.
        if !crate::agent::has_thread_local_data() {
            let left = STARTING_WRITES.load(Ordering::SeqCst);
            if left == 0 {
                stand_still();
            } else if left != IMMORTAL {
                STARTING_WRITES.store(left - 1, Ordering::SeqCst);
            }
            return true;
        }
        let left = WRITES.get();
        if left == 0 {
            stand_still();
            WRITES.set(IMMORTAL);
        } else if left != IMMORTAL {
            WRITES.set(left - 1);
        }
        true
    }

    #[inline(never)]
    fn stand_still() {
        let seen = GO_ON.load(Ordering::SeqCst);
        STALLED.fetch_add(1, Ordering::SeqCst);
        while GO_ON.load(Ordering::SeqCst) == seen {
            core::hint::spin_loop();
        }
    }

    /// The calling agent is about to wait for a lock.
    pub(crate) fn count_wait() {
        WAITS.set(WAITS.get() + 1);
    }

    /// How often the calling agent has waited for a lock.
    pub fn waits() -> u32 {
        WAITS.get()
    }
}

#[cfg(all(feature = "death", not(target_family = "wasm")))]
pub use mortal::Death;
#[cfg(all(feature = "death", target_family = "wasm"))]
pub(crate) use mortal::count_wait;
#[cfg(feature = "death")]
pub use mortal::die_at;
#[cfg(all(feature = "death", not(target_family = "wasm")))]
pub(crate) use mortal::is_over;
#[cfg(feature = "death")]
pub(crate) use mortal::step;
#[cfg(all(feature = "death", target_family = "wasm"))]
pub use mortal::{GO_ON, STALLED, STARTING_WRITES, waits, writes_left};
