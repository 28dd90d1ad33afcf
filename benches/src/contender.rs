//! The heaps that take turns. A new peer or ablation is one more entry here.

use ::warena::Config;
use anyhow::Result;

use crate::crew::Crew;
use crate::limit::Limit;
use crate::measure::{Cell, Plan, Sample, round};
use crate::system::{self, System};
use crate::warena::Warena;

/// A heap by its name, and how to run a round of it.
pub struct Contender {
    /// The allocator's name in rows.
    pub allocator: &'static str,
    /// Which settings of Warena; none for peers.
    pub config: Option<&'static str>,
    /// Measures a fresh one.
    pub round: fn(&Crew, &Cell, &Plan) -> Result<Sample>,
}

/// Every heap there is on this host.
pub const ALL: [Contender; 5] = [
    Contender {
        allocator: "warena",
        config: Some("full"),
        round: |crew, cell, plan| round(crew, Warena::new(Config::DEFAULT)?, cell, plan),
    },
    Contender {
        allocator: "warena",
        config: Some("spill-only"),
        round: |crew, cell, plan| round(crew, Warena::new(Config::SPILL_ONLY)?, cell, plan),
    },
    Contender {
        allocator: "warena",
        config: Some("no-caches"),
        round: |crew, cell, plan| round(crew, Warena::new(Config::NO_CACHES)?, cell, plan),
    },
    Contender {
        allocator: "limit",
        config: None,
        round: |crew, cell, plan| {
            // The coordinator joins too, to free the last list.
            round(crew, Limit::new(cell.size, cell.producers + 1), cell, plan)
        },
    },
    Contender {
        allocator: system::NAME,
        config: None,
        round: |crew, cell, plan| round(crew, System, cell, plan),
    },
];
