//! The agent that runs this code: a thread, a worker, a page. Each has a number of its own.
//!
//! Locks are held, and slots taken, in an agent's name. So a lock that an agent finds in its own
//! hands is a re-entry, whichever of its workers or handles it came through; and whoever learns
//! that an agent has ended knows which locks and slots are left behind.
//!
//! | where | what keeps the number |
//! | --- | --- |
//! | native | a thread-local word, drawn when first asked for |
//! | wasm with threads | the same; while an agent has no thread-local data, see below |
//! | wasm without | there is one agent |
//!
//! On wasm an agent starts and ends without thread-local data: wasm-bindgen allocates it, and the
//! agent's stack, from the global allocator. Whoever starts agents says whose turn it is in
//! [`AgentWords::starting`], one agent at a time; then these calls have a number too. Without that
//! they are [`Agent::UNKNOWN`], for whom nothing is recovered.

#[cfg(not(loom))]
use core::sync::atomic::{AtomicU32, Ordering};

/// An agent's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agent(u32);

/// The largest number: what a lock's word has room for.
const MOST: u32 = (1 << 31) - 1;

impl Agent {
    /// An agent that nobody can name: on wasm, one that has no thread-local data and was not
    /// announced.
    pub(crate) const UNKNOWN: Self = Self(MOST);

    /// The agent of this number, which is not 0.
    pub(crate) const fn numbered(number: u32) -> Self {
        debug_assert!(number != 0 && number <= MOST);
        Self(number)
    }

    /// The number: 1 ..= 2^31 − 1.
    pub(crate) const fn number(self) -> u32 {
        self.0
    }

    /// The agent that calls.
    #[inline]
    pub(crate) fn current() -> Self {
        Self(current::number())
    }
}

/// The calling agent's number: 1 ..= 2^31 − 1, and its alone for as long as the program, or on wasm
/// the memory, exists. Locks and slots are taken in its name.
pub fn agent_number() -> u32 {
    Agent::current().number()
}

/// The next number to be drawn, less 1. A model has no static atomics, and draws none.
#[cfg(not(loom))]
static DRAWN: AtomicU32 = AtomicU32::new(0);

#[cfg(not(loom))]
fn draw() -> u32 {
    // 2^31 agents in one memory are more than any program starts.
    DRAWN.fetch_add(1, Ordering::Relaxed) + 1
}

#[cfg(loom)]
mod current {
    pub(super) fn number() -> u32 {
        super::MOST
    }
}

#[cfg(not(any(loom, target_family = "wasm")))]
mod current {
    extern crate std;
    use core::cell::Cell;

    std::thread_local! {
        static NUMBER: Cell<u32> = const { Cell::new(0) };
    }

    #[inline]
    pub(super) fn number() -> u32 {
        // A constant without a destructor is there for as long as its thread runs.
        NUMBER.with(|own| {
            if own.get() == 0 {
                own.set(super::draw());
            }
            own.get()
        })
    }
}

#[cfg(all(target_family = "wasm", not(target_feature = "atomics"), not(loom)))]
mod current {
    #[inline]
    pub(super) fn number() -> u32 {
        1
    }
}

#[cfg(all(target_family = "wasm", target_feature = "atomics", not(loom)))]
mod current {
    use super::{AgentWords, AtomicU32, DRAWN, MOST, Ordering};
    use crate::thread_word::ThreadWord;

    #[thread_local]
    static NUMBER: ThreadWord = ThreadWord::new(0);

    static STARTING: AtomicU32 = AtomicU32::new(0);

    #[inline]
    pub(super) fn number() -> u32 {
        if !super::has_thread_local_data() {
            return match STARTING.load(Ordering::Relaxed) {
                0 => MOST,
                starting => starting,
            };
        }
        if NUMBER.get() == 0 {
            NUMBER.set(super::draw());
        }
        NUMBER.get()
    }

    /// Where thread-local data would be, if there is any: its base and this module's offset.
    #[inline]
    pub(super) fn thread_local_address() -> usize {
        (&raw const NUMBER).addr()
    }

    /// Takes `number`, which was drawn by [`AgentWords::drawn`], as the calling agent's.
    pub fn become_agent(number: u32) {
        NUMBER.set(number);
    }

    impl AgentWords {
        /// The words of this module's memory.
        pub fn get() -> Self {
            Self {
                drawn: DRAWN.as_ptr() as u32,
                starting: STARTING.as_ptr() as u32,
            }
        }
    }
}

/// Whether the calling agent has thread-local data. wasm-bindgen calls the allocator before it
/// gives an agent such data, with the base at 0, and after it took it away, with the base at
/// 2 GiB. No data is at either: below the module's own stands the first agent's stack, and a chunk
/// begins with its block map.
#[cfg(all(target_family = "wasm", target_feature = "atomics", not(loom)))]
#[inline]
pub fn has_thread_local_data() -> bool {
    const AFTER: core::ops::Range<usize> = 1 << 31..(1 << 31) + (1 << 16);
    unsafe extern "C" {
        /// Where the linker put the module's static data.
        static __global_base: u8;
    }
    let address = current::thread_local_address();
    address >= (&raw const __global_base).addr() && !AFTER.contains(&address)
}

#[cfg(all(target_family = "wasm", target_feature = "atomics", not(loom)))]
pub use current::become_agent;

/// Addresses of the words by which whoever starts agents on wasm names them. Each is 32 bits, read
/// and written by atomic accesses only.
#[cfg(all(target_family = "wasm", target_feature = "atomics"))]
#[derive(Clone, Copy, Debug)]
pub struct AgentWords {
    /// How many numbers were drawn: adding 1 draws the one that results.
    pub drawn: u32,
    /// The number of the agent that starts or ends now, without thread-local data; 0: none.
    pub starting: u32,
}
