//! The whole run: every cell of every benchmark, heaps taking turns, then the tables.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::chunks;
use crate::clock::Clock;
use crate::contender;
use crate::crew::Crew;
use crate::measure::{Cell, Plan, Sample, summary};
use crate::options::Options;
use crate::row::Row;
use crate::system;
use crate::table::Table;
use crate::workload::Workload;

/// Where the benchmarks run.
pub struct Host<'a> {
    /// `native` or `node`.
    pub name: &'a str,
    /// Processors.
    pub cores: usize,
    /// Shows text as the run goes on.
    pub print: &'a dyn Fn(&str),
}

/// Measures what the options ask for and prints it. At least [`Options::crew`] producers serve.
pub fn run(options: &Options, host: &Host<'_>, crew: &Crew) -> Result<Vec<Row>> {
    let clock = Clock::calibrate();
    let plan = Plan {
        length: options.length,
        warm_up: options.length / 10,
        clock,
        cores: host.cores,
    };
    (host.print)(&preamble(options, host, &clock));
    let mut rows = Vec::new();
    for &workload in &options.workloads {
        warm_up(options, crew, &plan, workload)?;
        let first = rows.len();
        for &producers in &options.producers {
            for &allocs in &options.allocs {
                let cell = Cell {
                    workload,
                    producers,
                    allocs,
                    size: options.size,
                    chunks: None,
                };
                measure(options.rounds, host, crew, &plan, &cell, &mut rows)?;
            }
        }
        let measured: Vec<&Row> = rows[first..].iter().collect();
        for table in tables(workload, options.size) {
            if let Some(text) = table.of(&measured) {
                (host.print)(&text);
            }
        }
    }
    if !options.chunks.is_empty() {
        rows.extend(chunks::run(options, host, crew, &plan)?);
    }
    Ok(rows)
}

/// One cell: the heaps take turns, round by round.
fn measure(
    rounds: usize,
    host: &Host<'_>,
    crew: &Crew,
    plan: &Plan,
    cell: &Cell,
    rows: &mut Vec<Row>,
) -> Result<()> {
    let mut samples: [Vec<Sample>; contender::ALL.len()] = Default::default();
    for _ in 0..rounds {
        for (contender, samples) in contender::ALL.iter().zip(&mut samples) {
            let sample = (contender.round)(crew, cell, plan).with_context(|| {
                let config = contender.config.unwrap_or("");
                format!("{} {config} failed in {cell:?}", contender.allocator)
            })?;
            samples.push(sample);
        }
    }
    for (contender, samples) in contender::ALL.iter().zip(&samples) {
        rows.push(Row::new(host.name, contender, cell, &summary(samples)));
    }
    Ok(())
}

/// One round of every heap that nobody looks at: engines compile what runs often while it runs,
/// and the first cells are not to pay for that.
fn warm_up(options: &Options, crew: &Crew, plan: &Plan, workload: Workload) -> Result<()> {
    let plan = Plan {
        length: options.length.min(Duration::from_millis(100)),
        ..*plan
    };
    // Long phases, so that their timing is warmed up too.
    let allocs = options.allocs.iter().copied().max().unwrap_or(1);
    let cell = Cell {
        workload,
        producers: 1,
        allocs,
        size: options.size,
        chunks: None,
    };
    for contender in &contender::ALL {
        (contender.round)(crew, &cell, &plan)?;
    }
    Ok(())
}

/// What must be known to read the tables.
fn preamble(options: &Options, host: &Host<'_>, clock: &Clock) -> String {
    let mut text = format!(
        "host {}, {} processors; {} rounds of {} ms, heaps taking turns; medians\n\
         clock: {:.0} ns a reading, steps of {:.0} ns; phases too short for it have no figure (-)\n",
        host.name,
        host.cores,
        options.rounds,
        options.length.as_millis(),
        clock.cost_ns,
        clock.step_ns,
    );
    if options.crew() > host.cores {
        text += &format!(
            "More than {} producers take turns on the processors: their latency includes the wait \
             for one,\nand only CPU time says what an operation costs.\n",
            host.cores
        );
    }
    text
}

fn tables(workload: Workload, size: usize) -> Vec<Table> {
    let own = [
        ("warena", Some("no-caches")),
        ("warena", Some("full")),
        ("warena", Some("spill-only")),
    ];
    let peers = [
        ("warena", Some("full")),
        ("limit", None),
        (system::NAME, None),
    ];
    let layers = "no-caches/full/spill-only, and no-caches ÷ full";
    let against = format!("full/limit/{}, and full ÷ limit", system::NAME);
    let table = |what: &str, figure: fn(&Row) -> Option<f64>| {
        let head = format!("{}, {size} B, {what}, ns", workload.name());
        [
            Table {
                title: format!("{head}: {layers}"),
                series: own.to_vec(),
                ratio: (0, 1),
                figure,
            },
            Table {
                title: format!("{head}: {against}"),
                series: peers.to_vec(),
                ratio: (0, 1),
                figure,
            },
        ]
    };
    let [pair, pair_peers] = table("latency of a pair", |row| Some(row.pair_ns));
    let [cpu, cpu_peers] = table("CPU time of a pair", |row| row.cpu_ns_per_pair);
    let [alloc, _] = table("latency of an allocation", |row| row.alloc_ns);
    let [free, _] = table("latency of a free", |row| row.free_ns);
    vec![pair, cpu, alloc, free, pair_peers, cpu_peers]
}
