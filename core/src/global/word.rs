//! What each agent of a program keeps for itself: a word that leads to its seat, and whether it may
//! wait.
//!
//! | where | kept in |
//! | --- | --- |
//! | native | a thread-local word; a thread may always wait |
//! | wasm with threads | thread-local words, while the agent has such data |
//! | wasm without | a static word; there is nobody to wait for |

/// The agent has no seat and takes none: it gave its seat up, or has no thread-local data.
pub(super) const NO_SEAT: u32 = u32::MAX >> 12;

#[cfg(not(target_family = "wasm"))]
mod own {
    use super::super::seat::{self, FIRST};
    use crate::lock::Context;
    use core::cell::Cell;

    extern crate std;

    std::thread_local! {
        // Without a destructor, and so there for as long as its thread runs.
        static SEAT: Cell<u32> = const { Cell::new(FIRST) };
        static END: End = const { End };
    }

    /// Is dropped when its thread ends.
    struct End;

    impl Drop for End {
        fn drop(&mut self) {
            // A native thread may wait, so the only lock that keeps it from leaving is its own: of
            // a call that was left by a panic in a chunk source, of which a program's has none.
            let left = seat::leave();
            debug_assert!(left);
        }
    }

    #[inline(always)]
    pub(in crate::global) fn get() -> u32 {
        SEAT.get()
    }

    pub(in crate::global) fn set(word: u32) {
        SEAT.set(word);
    }

    pub(in crate::global) fn context() -> Context {
        Context::MayWait
    }

    /// Lets others run.
    pub(in crate::global) fn rest() {
        std::thread::yield_now();
    }

    /// Sees to it that the thread's end gives its seat up; whether that can be had. May allocate.
    pub(in crate::global) fn watch_end() -> bool {
        END.try_with(|_| ()).is_ok()
    }
}

#[cfg(all(target_family = "wasm", target_feature = "atomics"))]
mod own {
    use super::super::seat::FIRST;
    use super::NO_SEAT;
    use crate::agent::has_thread_local_data;
    use crate::lock::Context;
    use crate::thread_word::ThreadWord;

    #[thread_local]
    static SEAT: ThreadWord = ThreadWord::new(FIRST);

    /// 1 if the agent may wait.
    #[thread_local]
    static MAY_WAIT: ThreadWord = ThreadWord::new(0);

    #[inline(always)]
    pub(in crate::global) fn get() -> u32 {
        if has_thread_local_data() {
            SEAT.get()
        } else {
            NO_SEAT
        }
    }

    /// Only for an agent that has thread-local data.
    pub(in crate::global) fn set(word: u32) {
        SEAT.set(word);
    }

    pub(in crate::global) fn context() -> Context {
        if has_thread_local_data() && MAY_WAIT.get() != 0 {
            Context::MayWait
        } else {
            Context::NoWait
        }
    }

    /// Only for an agent that has thread-local data.
    pub(in crate::global) fn set_may_wait(may_wait: bool) {
        MAY_WAIT.set(may_wait.into());
    }

    /// Lets others run for a millisecond. Only for an agent that may wait.
    pub(in crate::global) fn rest() {
        const NANOSECONDS: i64 = 1_000_000;
        let mut word = 0;
        // SAFETY: the word is alive and aligned, and nobody else's, so that the time passes.
        unsafe { core::arch::wasm32::memory_atomic_wait32(&raw mut word, 0, NANOSECONDS) };
    }

    /// Nobody tells of an agent's end here: [`Global::leave`](crate::Global::leave) is called.
    pub(in crate::global) fn watch_end() -> bool {
        true
    }
}

#[cfg(all(target_family = "wasm", not(target_feature = "atomics")))]
mod own {
    use super::super::seat::FIRST;
    use crate::lock::Context;
    use core::sync::atomic::{AtomicU32, Ordering};

    static SEAT: AtomicU32 = AtomicU32::new(FIRST);

    #[inline(always)]
    pub(in crate::global) fn get() -> u32 {
        SEAT.load(Ordering::Relaxed)
    }

    pub(in crate::global) fn set(word: u32) {
        SEAT.store(word, Ordering::Relaxed);
    }

    pub(in crate::global) fn context() -> Context {
        Context::NoWait
    }

    /// There is nobody else to run.
    pub(in crate::global) fn rest() {}

    /// There is one agent, and nothing behind its end.
    pub(in crate::global) fn watch_end() -> bool {
        true
    }
}

#[cfg(all(target_family = "wasm", target_feature = "atomics"))]
pub(super) use own::set_may_wait;
pub(super) use own::{context, get, rest, set, watch_end};
