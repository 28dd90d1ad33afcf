//! What is measured: the benchmarks, and the cells of each.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::options::Options;
use crate::sizes::Sizes;
use crate::trace::TRACES;

/// A benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bench {
    /// Allocate N objects; that they are freed again has no figure of its own.
    Malloc,
    /// The same, zeroed.
    Calloc,
    /// Each producer frees its own objects.
    MallocFree,
    /// Each producer frees what the previous cycle of any producer allocated.
    MallocXfree,
    /// Some producers only allocate, the others only free.
    ProdCon,
    /// Random objects of an array are replaced, and the arrays wander from producer to producer.
    Larson,
    /// Objects grow by half again and again.
    ReallocGrow,
    /// `malloc-free` of large objects.
    Large,
    /// `malloc-free` in a heap that has many full chunks.
    Chunks,
    /// What real programs asked for.
    Trace,
    /// `malloc-free` through the other fronts of Warena.
    Fronts,
    /// `realloc-grow` of small objects, as vectors grow, through those that have it.
    FrontsGrow,
    /// What the page's worker does a second, watched and unwatched. Only on a page, and measured
    /// by the host's script: it has no cells.
    Watched,
}

impl Bench {
    /// All of them, in the order of a run.
    pub const ALL: [Self; 13] = [
        Self::Malloc,
        Self::Calloc,
        Self::MallocFree,
        Self::MallocXfree,
        Self::ProdCon,
        Self::Larson,
        Self::ReallocGrow,
        Self::Large,
        Self::Chunks,
        Self::Trace,
        Self::Fronts,
        Self::FrontsGrow,
        Self::Watched,
    ];

    /// The name on the command line and in rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Malloc => "malloc",
            Self::Calloc => "calloc",
            Self::MallocFree => "malloc-free",
            Self::MallocXfree => "malloc-xfree",
            Self::ProdCon => "prodcon",
            Self::Larson => "larson",
            Self::ReallocGrow => "realloc-grow",
            Self::Large => "large",
            Self::Chunks => "chunks",
            Self::Trace => "trace",
            Self::Fronts => "fronts",
            Self::FrontsGrow => "fronts-grow",
            Self::Watched => "watched",
        }
    }

    /// Whether it is about Warena alone: peers have no part in it.
    pub fn is_own(self) -> bool {
        matches!(
            self,
            Self::Chunks | Self::Fronts | Self::FrontsGrow | Self::Watched
        )
    }

    /// The benchmark of this name.
    pub fn parse(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|known| known.name() == name);
        found.with_context(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            format!("no benchmark {name:?}; there are {known}")
        })
    }

    /// Its cells, as far as the options want them. Those of one group take turns round by round.
    pub fn groups(self, options: &Options) -> Vec<Vec<Cell>> {
        let cell = Cell {
            bench: self,
            producers: 1,
            allocs: 0,
            sizes: options.sizes,
            chunks: None,
            trace: None,
        };
        let with = |producers: &[usize], allocs: &[usize], sizes: Sizes| -> Vec<Vec<Cell>> {
            let mut groups = Vec::new();
            for &producers in producers {
                for &allocs in allocs {
                    groups.push(vec![Cell {
                        producers,
                        allocs,
                        sizes,
                        ..cell
                    }]);
                }
            }
            groups
        };
        let only = |wanted: &[usize]| -> Vec<usize> {
            let wanted = wanted.iter().copied();
            wanted.filter(|n| options.allocs.contains(n)).collect()
        };
        let several: Vec<usize> = options
            .producers
            .iter()
            .copied()
            .filter(|&n| n > 1)
            .collect();
        let alone = |sizes| with(&[1], &options.allocs, sizes);
        match self {
            Self::Malloc | Self::Calloc => alone(options.sizes),
            Self::MallocFree | Self::MallocXfree => {
                with(&options.producers, &options.allocs, options.sizes)
            }
            Self::ProdCon => with(&several, &only(&[16, 256]), options.sizes),
            Self::Larson => with(&options.producers, &only(&[256]), Sizes::Mixed),
            Self::ReallocGrow => with(&options.producers, &only(&[1, 16]), GROWN),
            Self::Large => with(&options.producers, &only(&[1, 16]), Sizes::Large),
            Self::Chunks => {
                let cells = options.chunks.iter().map(|&chunks| Cell {
                    allocs: 256,
                    chunks: Some(chunks),
                    ..cell
                });
                vec![cells.collect()]
            }
            Self::Trace => {
                let traces = options.traces.iter().flat_map(|&trace| {
                    // Alone; and 16 copies, 4 a producer.
                    [(1, 1), (4, 4)].map(|(producers, copies)| {
                        vec![Cell {
                            producers,
                            allocs: copies,
                            trace: Some(trace),
                            // The trace says what is asked for.
                            sizes: Sizes::Fixed(0),
                            ..cell
                        }]
                    })
                });
                traces.collect()
            }
            Self::Fronts => alone(options.sizes),
            Self::FrontsGrow => with(&[1], &only(&[1, 16]), VECTOR),
            Self::Watched => Vec::new(),
        }
    }
}

/// What the objects of `realloc-grow` grow to.
const GROWN: Sizes = Sizes::Fixed(64 << 10);

/// What those of `fronts-grow` grow to.
const VECTOR: Sizes = Sizes::Fixed(4 << 10);

/// One cell of a benchmark.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// What the producers do.
    pub bench: Bench,
    /// How many do it at once.
    pub producers: usize,
    /// Objects a cycle; of a trace, its copies that one producer interleaves.
    pub allocs: usize,
    /// Bytes of each object.
    pub sizes: Sizes,
    /// Full chunks that the heap has before.
    pub chunks: Option<usize>,
    /// Which trace is replayed: a position in [`TRACES`].
    pub trace: Option<usize>,
}

impl Cell {
    /// The name of the trace that is replayed.
    pub fn trace_name(&self) -> Option<&'static str> {
        self.trace.map(|trace| TRACES[trace])
    }
}
