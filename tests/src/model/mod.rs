//! A script of calls, made by one to four workers on one thread, against a naive oracle, in a memory
//! so small that it runs out. Random scripts come from proptest, and from a fuzzer's bytes.
//!
//! What is known after every call, and checked:
//!
//! 1. No two live objects overlap, each is aligned to its block and as asked for, and its bytes are
//!    as written, or zero if so asked for, wherever a resize moved them.
//! 2. A cache gives back the very object that was freed last, a transfer cache the very batch
//!    ([`Caches`](caches::Caches) predicts them).
//! 3. A bad free is refused with the error that names the pointer, and changes no figure.
//! 4. Bytes allocated, cached and in transfer are what the oracle counts; all figures add up.
//! 5. A resize stays exactly where the buddies allow it.
//! 6. Out of memory is only said when no block of the size is free, and growth was refused.
//! 7. `verify()` finds nothing, every few calls and at the end; after everything is freed and
//!    returned, all is coalesced.

mod bytes;
mod caches;
mod oracle;

use crate::{CountedSource, arena};
use oracle::Oracle;
use warena::Config;

/// Calls from one `verify()` to the next.
const CALLS_A_PROOF: usize = 20;

/// One call. `worker` and `object` choose among those that there are at that moment.
#[derive(Clone, Debug)]
pub enum Call {
    /// Allocates by one of the calls that do.
    Alloc {
        /// Who.
        worker: usize,
        /// Bytes.
        size: usize,
        /// By which call.
        how: How,
    },
    /// Allocates `1 << n_order` objects.
    AllocBulk {
        /// Who.
        worker: usize,
        /// Bytes of each.
        size: usize,
        /// The logarithm of their number.
        n_order: u32,
        /// Whether the arena may grow for it.
        grow: bool,
    },
    /// Frees a live object.
    Free {
        /// Who.
        worker: usize,
        /// Which.
        object: usize,
        /// By the call that does not wait.
        nowait: bool,
    },
    /// Frees live objects in a row, the first of them twice if so.
    FreeBulk {
        /// Who.
        worker: usize,
        /// The first.
        first: usize,
        /// How many.
        count: usize,
        /// Whether the first comes again.
        twice: bool,
    },
    /// Frees what is no live object.
    FreeBad {
        /// Who.
        worker: usize,
        /// The object that it is derived from.
        object: usize,
        /// What is wrong with it.
        bad: Bad,
    },
    /// Resizes a live object.
    Realloc {
        /// Who.
        worker: usize,
        /// Which.
        object: usize,
        /// To how many bytes.
        size: usize,
    },
    /// Fills a cache ahead.
    Reserve {
        /// Who.
        worker: usize,
        /// Bytes of an object.
        size: usize,
        /// How many are wanted in the cache.
        count: usize,
    },
    /// Returns what a worker caches.
    Flush {
        /// Who.
        worker: usize,
    },
    /// Grows the arena.
    Grow {
        /// By so many chunks.
        count: u32,
    },
    /// Attaches one more worker.
    Attach,
    /// Detaches one.
    Detach {
        /// Who.
        worker: usize,
    },
}

/// Which call allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// `alloc`.
    Plain,
    /// `alloc_zeroed`.
    Zeroed,
    /// `alloc_aligned`, to this power of two: an exponent.
    Aligned(u32),
    /// `alloc_nogrow`.
    NoGrow,
    /// `alloc_nowait`.
    NoWait,
}

/// What is wrong with a pointer.
#[derive(Clone, Copy, Debug)]
pub enum Bad {
    /// An object that was freed before.
    Freed,
    /// Inside a live object, at this share of its block in 256ths.
    Interior(u8),
    /// At a live object's start, and so many bytes on.
    Unaligned(usize),
    /// Somewhere in the memory.
    Anywhere(u32),
    /// Null.
    Null,
}

/// A script with what it runs on. Its `Debug` is how a failure is told.
#[derive(Clone, Debug)]
pub struct Script {
    /// The arena's settings.
    pub config: Config,
    /// Chunks that the memory can give.
    pub chunks: u64,
    /// The calls.
    pub calls: Vec<Call>,
}

impl Script {
    /// Makes the calls and checks each; panics at the first that is not as it must be.
    pub fn run(&self) {
        let source = CountedSource::new((self.chunks + 1) << 20);
        {
            let arena = arena(&source, self.config);
            let mut oracle = Oracle::new(&arena, &source, self.config);
            oracle.attach();
            for (index, call) in self.calls.iter().enumerate() {
                oracle.make(call);
                oracle.check();
                if index % CALLS_A_PROOF == 0 {
                    oracle.prove();
                }
            }
            oracle.prove();
            oracle.end();
            // SAFETY: nothing is attached or allocated.
            unsafe { arena.destroy() }.expect("nobody holds the lock");
        }
        assert_eq!(source.held(), 0, "chunks were not given back");
    }
}
