//! What producers do: a file for each kind of work.
//!
//! ```text
//!   Workload  shared by the producers of a round ── cycle() ──▶  Cycle  of one producer
//!     drain()  frees what is left with nobody                      run()  again and again
//!                                                                  end()  frees what it keeps
//! ```
//!
//! | file | benchmarks |
//! | --- | --- |
//! | `lists` | `malloc`, `calloc`, `malloc-free`, `malloc-xfree`, `large`, `chunks`, `fronts` |
//! | `prodcon` | `prodcon` |
//! | `larson` | `larson` |
//! | `growth` | `realloc-grow`, `fronts-grow` |
//! | `replay` | `trace` |

mod growth;
mod larson;
mod lists;
mod prodcon;
mod replay;

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;

use crate::heap::Producer;

pub use growth::Growth;
pub use larson::Larson;
pub use lists::Lists;
pub use prodcon::ProdCon;
pub use replay::Replay;

/// A kind of work, as the producers of a round share it.
pub trait Workload: Sync {
    /// One producer's part.
    type Cycle<'a>: Cycle
    where
        Self: 'a;

    /// Whether allocating and freeing are phases that can be told apart.
    const PHASES: bool;

    /// Whether what is live is counted by [`Timer::live`], in a first cycle before all others.
    const COUNTED: bool = false;

    /// The part of the producer of this number.
    fn cycle(&self, owner: u32) -> Self::Cycle<'_>;

    /// Frees what the last cycles left with nobody.
    fn drain<P: Producer>(&self, producer: &mut P) -> Result<()>;
}

/// What one producer does again and again.
pub trait Cycle {
    /// About how many pairs of an allocation and a free a cycle has.
    fn pairs(&self) -> usize;

    /// One cycle; the pairs that it counts for.
    fn run<P: Producer>(&mut self, producer: &mut P, timer: &mut impl Timer) -> Result<usize>;

    /// Frees what the producer keeps from cycle to cycle.
    fn end<P: Producer>(&mut self, producer: &mut P) -> Result<()>;
}

/// Times the phases of cycles or counts what is live, or does neither.
pub trait Timer {
    /// A reading of the clock.
    type Reading;

    /// Reads the clock.
    fn read(&self) -> Self::Reading;

    /// `objects` were allocated since that reading.
    fn allocated(&mut self, since: Self::Reading, objects: usize);

    /// `objects` were freed since that reading.
    fn freed(&mut self, since: Self::Reading, objects: usize);

    /// So many bytes more, or less, are allocated.
    fn live(&mut self, change: i64);
}

/// Times nothing, and costs nothing.
pub struct Untimed;

impl Timer for Untimed {
    type Reading = ();

    #[inline(always)]
    fn read(&self) {}

    #[inline(always)]
    fn allocated(&mut self, (): (), _objects: usize) {}

    #[inline(always)]
    fn freed(&mut self, (): (), _objects: usize) {}

    #[inline(always)]
    fn live(&mut self, _change: i64) {}
}

/// Counts the bytes that all producers of a round have asked for and not freed.
#[derive(Default)]
pub struct Ledger {
    live: AtomicU64,
    peak: AtomicU64,
}

impl Ledger {
    /// The most bytes that were ever live at once; none where nothing was counted.
    pub fn peak(&self) -> Option<u64> {
        Some(self.peak.load(Ordering::Relaxed)).filter(|&peak| peak > 0)
    }
}

impl Timer for &Ledger {
    type Reading = ();

    fn read(&self) {}

    fn allocated(&mut self, (): (), _objects: usize) {}

    fn freed(&mut self, (): (), _objects: usize) {}

    #[inline]
    fn live(&mut self, change: i64) {
        let before = self.live.fetch_add(change as u64, Ordering::Relaxed);
        let after = before.wrapping_add(change as u64);
        self.peak.fetch_max(after, Ordering::Relaxed);
    }
}
