//! The heaps that take turns. A new peer, ablation or front is one more entry here.

use std::alloc::System;

use ::warena::Config;
use anyhow::Result;

use crate::absence::is_absent;
use crate::cell::{Bench, Cell};
use crate::crew::Crew;
use crate::front;
use crate::global::{Global, SYSTEM};
use crate::limit::Limit;
use crate::measure::{Plan, Sample, round};
use crate::peers;
use crate::warena::Warena;

/// Measures a fresh heap for one round.
pub type Round<'a> = dyn Fn(&Crew, &Cell, &Plan) -> Result<Sample> + 'a;

/// A heap by its name, and how to run a round of it.
pub struct Contender<'a> {
    /// The allocator's name in rows.
    pub allocator: String,
    /// Which settings of Warena; none for peers.
    pub config: Option<String>,
    /// How it is called; none for the direct call.
    pub front: Option<String>,
    /// Whether it has a part in a cell.
    pub fits: fn(&Contender<'_>, &Cell) -> bool,
    /// Measures a fresh one.
    pub round: Box<Round<'a>>,
}

impl<'a> Contender<'a> {
    /// A peer that has a part in all but Warena's own benchmarks.
    pub fn peer(name: &str, round: impl Fn(&Crew, &Cell, &Plan) -> Result<Sample> + 'a) -> Self {
        Self {
            allocator: name.to_owned(),
            config: None,
            front: None,
            fits: |_, cell| !cell.bench.is_own(),
            round: Box::new(round),
        }
    }

    /// Whether it is neither Warena nor the limit, which everything is measured by.
    pub fn is_peer(&self) -> bool {
        self.config.is_none() && self.allocator != "limit"
    }

    /// An allocator, its settings and its front, for people.
    pub fn title(&self) -> String {
        let parts = [
            Some(&self.allocator),
            self.config.as_ref(),
            self.front.as_ref(),
        ];
        let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        parts.join(" ")
    }

    /// Whether it has a part in a cell.
    pub fn fits(&self, cell: &Cell) -> bool {
        (self.fits)(self, cell) && !is_absent(&self.allocator, cell)
    }
}

/// Warena's settings that are measured against each other.
pub const CONFIGS: [(&str, Config); 4] = [
    ("full", Config::DEFAULT),
    ("spill-only", Config::SPILL_ONLY),
    (
        "no-batch",
        Config {
            batch: 1,
            ..Config::DEFAULT
        },
    ),
    ("no-caches", Config::NO_CACHES),
];

/// Every heap there is in this build, in the order in which they take turns. A module of mimalloc
/// has nothing else: the run is another module's.
pub fn all() -> Vec<Contender<'static>> {
    if cfg!(all(feature = "mimalloc", target_family = "wasm")) {
        return peers::all();
    }
    let mut all: Vec<Contender<'static>> = CONFIGS.into_iter().map(warena).collect();
    all.extend(front::contender());
    all.push(limit());
    all.push(system());
    all.extend(peers::all());
    all
}

/// What the platform comes with. The build for WebAssembly that has peers replays traces on the
/// same code from its crate, which can be asked for what it has grown.
fn system() -> Contender<'static> {
    let peer = Contender::peer(SYSTEM, |crew, cell, plan| {
        round(crew, Global::new(System), cell, plan)
    });
    if cfg!(all(feature = "peers", target_family = "wasm")) {
        Contender {
            fits: |_, cell| !cell.bench.is_own() && cell.bench != Bench::Trace,
            ..peer
        }
    } else {
        peer
    }
}

fn warena((name, config): (&str, Config)) -> Contender<'static> {
    Contender {
        allocator: "warena".to_owned(),
        config: Some(name.to_owned()),
        front: None,
        // Other fronts are compared with the full caches called directly.
        fits: |own, cell| {
            let fronts = matches!(cell.bench, Bench::Fronts | Bench::FrontsGrow);
            !fronts || own.config.as_deref() == Some("full")
        },
        round: Box::new(move |crew, cell, plan| {
            let heap = match cell.chunks {
                Some(chunks) => Warena::full(config, chunks, cell.sizes.most())?,
                None => Warena::new(config)?,
            };
            round(crew, heap, cell, plan)
        }),
    }
}

/// The limit serves one size, and only producers that free what they allocate.
fn limit() -> Contender<'static> {
    Contender {
        fits: |_, cell| {
            let bench = cell.bench;
            matches!(bench, Bench::Malloc | Bench::Calloc | Bench::MallocFree)
                || matches!(bench, Bench::MallocXfree | Bench::Fronts)
        },
        ..Contender::peer("limit", |crew, cell, plan| {
            // The coordinator joins too, to free the last list.
            let heap = Limit::new(cell.sizes.most(), cell.producers + 1);
            round(crew, heap, cell, plan)
        })
    }
}
