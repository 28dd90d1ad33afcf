//! The benchmark `chunks`: what a pair costs when the heap has many full chunks. Finding a free
//! block must not look through them.
//!
//! A heap is filled with objects of the very size until no block of its chunks is free, so that
//! what is measured happens in one chunk more. Every cycle allocates more objects than a cache
//! holds: each pair goes through the central heap in the end, by batches or, without caches, alone.

use std::fmt::Write;

use ::warena::Config;
use anyhow::{Context, Result};

use crate::contender::Contender;
use crate::crew::Crew;
use crate::measure::{Cell, Plan, Sample, round, summary};
use crate::options::Options;
use crate::row::Row;
use crate::suite::Host;
use crate::warena::Warena;
use crate::workload::Workload;

/// The name on the command line and in rows.
pub const NAME: &str = "chunks";

/// Numbers of full chunks. A WebAssembly memory of 1 GiB holds less than 1,024.
pub const COUNTS: [usize; 3] = if cfg!(target_family = "wasm") {
    [1, 64, 512]
} else {
    [1, 64, 1024]
};

/// Objects a cycle.
const ALLOCS: usize = 256;

/// The heaps.
const CONTENDERS: [Contender; 3] = [
    Contender {
        allocator: "warena",
        config: Some("full"),
        round: |crew, cell, plan| filled(Config::DEFAULT, crew, cell, plan),
    },
    Contender {
        allocator: "warena",
        config: Some("spill-only"),
        round: |crew, cell, plan| filled(Config::SPILL_ONLY, crew, cell, plan),
    },
    Contender {
        allocator: "warena",
        config: Some("no-caches"),
        round: |crew, cell, plan| filled(Config::NO_CACHES, crew, cell, plan),
    },
];

fn filled(config: Config, crew: &Crew, cell: &Cell, plan: &Plan) -> Result<Sample> {
    let chunks = cell.chunks.context("a number of chunks to fill")?;
    round(crew, Warena::full(config, chunks, cell.size)?, cell, plan)
}

/// Measures every heap with every number of chunks, all of them taking turns round by round, and
/// prints the table.
pub fn run(options: &Options, host: &Host<'_>, crew: &Crew, plan: &Plan) -> Result<Vec<Row>> {
    let cells = options.chunks.iter().map(|&chunks| Cell {
        workload: Workload::MallocFree,
        producers: 1,
        allocs: ALLOCS,
        size: options.size,
        chunks: Some(chunks),
    });
    let cells: Vec<Cell> = cells.collect();
    let mut samples: Vec<[Vec<Sample>; CONTENDERS.len()]> =
        cells.iter().map(|_| Default::default()).collect();
    for _ in 0..options.rounds {
        for (cell, samples) in cells.iter().zip(&mut samples) {
            for (contender, samples) in CONTENDERS.iter().zip(samples) {
                let sample = (contender.round)(crew, cell, plan).with_context(|| {
                    let config = contender.config.unwrap_or("");
                    format!("{} {config} failed in {cell:?}", contender.allocator)
                })?;
                samples.push(sample);
            }
        }
    }
    let mut rows = Vec::new();
    for (cell, samples) in cells.iter().zip(&samples) {
        for (contender, samples) in CONTENDERS.iter().zip(samples) {
            rows.push(Row::new(host.name, contender, cell, &summary(samples)));
        }
    }
    (host.print)(&table(&rows, options.size));
    Ok(rows)
}

/// A line a heap: the figure at each number of chunks, and that as a multiple of the first.
fn table(rows: &[Row], size: usize) -> String {
    let mut text = format!(
        "{NAME}, {size} B, {ALLOCS} objects a cycle, one producer: latency of a pair, ns, against \
         full chunks\n"
    );
    for contender in &CONTENDERS {
        let config = contender.config.unwrap_or("");
        // Writing to a string cannot fail.
        let _ = write!(text, "{config:>12}");
        let own = || rows.iter().filter(|row| row.config == contender.config);
        let first = own().next().map_or(f64::NAN, |row| row.pair_ns);
        for row in own() {
            let chunks = row.chunks.unwrap_or(0);
            let ratio = row.pair_ns / first;
            let _ = write!(text, "   {chunks}: {:.1} {ratio:.2}x", row.pair_ns);
        }
        text.push('\n');
    }
    text
}
