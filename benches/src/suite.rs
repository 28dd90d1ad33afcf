//! The whole run: every cell of every benchmark, heaps taking turns, then the tables.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::cell::{Bench, Cell};
use crate::clock::{Clock, now_ns};
use crate::contender::{self, Contender};
use crate::crew::Crew;
use crate::measure::{Plan, Sample};
use crate::options::Options;
use crate::row::Row;
use crate::tables::tables;

/// Where the benchmarks run.
pub struct Host<'a> {
    /// `native`, `node` or `chrome`.
    pub name: &'a str,
    /// Processors.
    pub cores: usize,
    /// Shows text as the run goes on.
    pub print: &'a dyn Fn(&str),
}

/// Measures what the options ask for and prints it. At least [`Options::crew`] producers serve.
/// The heaps are those of this build, and `others`, which are measured elsewhere.
pub fn run(
    options: &Options,
    host: &Host<'_>,
    crew: &Crew,
    others: Vec<Contender<'_>>,
) -> Result<Vec<Row>> {
    let mut heaps: Vec<Contender<'_>> = contender::all();
    heaps.extend(others);
    let clock = Clock::calibrate();
    let plan = Plan {
        length: options.length,
        warm_up: options.length / 10,
        clock,
        cores: host.cores,
    };
    (host.print)(&preamble(options, host, &clock));
    let mut rows = Vec::new();
    for &bench in &options.benches {
        let groups = bench.groups(options);
        if let Some(cell) = groups.iter().flatten().max_by_key(|cell| cell.allocs) {
            warm_up(&heaps, crew, &plan, cell)?;
        }
        let first = rows.len();
        for group in &groups {
            rows.extend(measure(&heaps, options, host, crew, &plan, group)?);
        }
        let measured: Vec<&Row> = rows[first..].iter().collect();
        for text in tables(bench, &measured) {
            (host.print)(&text);
        }
    }
    Ok(rows)
}

/// The cells of a group: the heaps take turns in each, round by round. A round cannot be cut short,
/// a replay of a trace by producers that fight over a lock least of all: so a peer sits out when
/// another round like its longest would be beyond its budget.
fn measure(
    heaps: &[Contender<'_>],
    options: &Options,
    host: &Host<'_>,
    crew: &Crew,
    plan: &Plan,
    group: &[Cell],
) -> Result<Vec<Row>> {
    let turns: Vec<(&Cell, &Contender<'_>)> = group
        .iter()
        .flat_map(|cell| heaps.iter().map(move |heap| (cell, heap)))
        .filter(|(cell, heap)| heap.fits(cell))
        .collect();
    let mut rounds: Vec<Rounds> = turns.iter().map(|_| Rounds::default()).collect();
    for _ in 0..options.rounds {
        for ((cell, heap), rounds) in turns.iter().zip(&mut rounds) {
            let enough = rounds.samples.len() >= options.least_rounds;
            if heap.is_peer() && enough && rounds.spent + rounds.longest > options.budget {
                continue;
            }
            let begin = now_ns();
            rounds.samples.push(turn(heap, crew, cell, plan)?);
            let took = Duration::from_nanos(now_ns() - begin);
            rounds.spent += took;
            rounds.longest = rounds.longest.max(took);
        }
    }
    let rows = turns.iter().zip(&rounds);
    Ok(rows
        .map(|((cell, heap), rounds)| Row::new(host.name, heap, cell, &rounds.samples))
        .collect())
}

/// A heap's rounds in a cell.
#[derive(Default)]
struct Rounds {
    samples: Vec<Sample>,
    /// What they took, checks included.
    spent: Duration,
    longest: Duration,
}

fn turn(heap: &Contender<'_>, crew: &Crew, cell: &Cell, plan: &Plan) -> Result<Sample> {
    let sample = (heap.round)(crew, cell, plan);
    sample.with_context(|| format!("{} failed in {cell:?}", heap.title()))
}

/// One round of every heap that nobody looks at: engines compile what runs often while it runs,
/// and the first cells are not to pay for that.
fn warm_up(heaps: &[Contender<'_>], crew: &Crew, plan: &Plan, cell: &Cell) -> Result<()> {
    let plan = Plan {
        length: plan.length.min(Duration::from_millis(100)),
        ..*plan
    };
    // Of two producers where one alone does not make pairs.
    let producers = if cell.bench == Bench::ProdCon { 2 } else { 1 };
    let cell = Cell { producers, ..*cell };
    for heap in heaps.iter().filter(|heap| heap.fits(&cell)) {
        turn(heap, crew, &cell, &plan)?;
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
