//! A row of the result: one benchmark of one heap in one cell. A JSON file is an array of rows.

use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::contender::Contender;
use crate::figure::Figure;
use crate::measure::Sample;

/// The figures of one cell, medians of the rounds; one that could not be
/// measured is none, and null in JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The workload.
    pub bench: String,
    /// The heap.
    pub allocator: String,
    /// Warena's settings.
    pub config: Option<String>,
    /// Where it ran: `native`, `node`, `chrome`.
    pub host: String,
    /// Producers at once.
    pub producers: usize,
    /// Objects a cycle; of a trace, its copies that one producer interleaves.
    pub allocs: usize,
    /// Bytes of each, or of the largest.
    pub size: usize,
    /// What the sizes are if not all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<String>,
    /// How the heap was called if not directly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub front: Option<String>,
    /// Full chunks that the heap had before, in the benchmark that is about them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunks: Option<usize>,
    /// The trace that was replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// ns of an allocation.
    pub alloc_ns: Option<f64>,
    /// ns of a free.
    pub free_ns: Option<f64>,
    /// ns of an allocation and a free.
    pub pair_ns: f64,
    /// ns of processor time by pair, over all threads.
    pub cpu_ns_per_pair: Option<f64>,
    /// Allocations and frees that were timed for `pair_ns`, over all rounds.
    pub ops: u64,
    /// Rounds that the figures are medians of.
    #[serde(default)]
    pub rounds: usize,
    /// Most bytes that the heap had from the platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_grown: Option<u64>,
    /// The same when half of the time was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_grown_half: Option<u64>,
    /// Most bytes that were asked for and not freed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_requested: Option<u64>,
    /// Least and most of the rounds, of each figure in ns.
    pub spread: Spread,
}

/// How far the rounds were apart: least and most, in ns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Of `alloc_ns`.
    pub alloc_ns: Option<[f64; 2]>,
    /// Of `free_ns`.
    pub free_ns: Option<[f64; 2]>,
    /// Of `pair_ns`.
    pub pair_ns: Option<[f64; 2]>,
    /// Of `cpu_ns_per_pair`.
    pub cpu_ns_per_pair: Option<[f64; 2]>,
}

impl Row {
    /// The row of a heap's rounds in a cell.
    pub fn new(host: &str, contender: &Contender<'_>, cell: &Cell, rounds: &[Sample]) -> Self {
        let figure = |get: fn(&Sample) -> Option<f64>| Figure::of(rounds.iter().map(get));
        // Medians as well: the most would be more for a heap that has had more rounds.
        let bytes = |get: fn(&Sample) -> Option<u64>| {
            let all = rounds.iter().map(|round| Some(get(round)? as f64));
            Figure::of(all).map(|figure| figure.median as u64)
        };
        let (alloc, free) = (
            figure(|round| round.alloc_ns),
            figure(|round| round.free_ns),
        );
        let pair = figure(|round| Some(round.pair_ns));
        let cpu = figure(|round| round.cpu_ns_per_pair);
        let median = |figure: Option<Figure>| figure.map(|figure| hundredths(figure.median));
        let spread = |figure: Option<Figure>| {
            figure.map(|figure| [hundredths(figure.min), hundredths(figure.max)])
        };
        Self {
            bench: cell.bench.name().to_owned(),
            allocator: contender.allocator.clone(),
            config: contender.config.clone(),
            host: host.to_owned(),
            producers: cell.producers,
            allocs: cell.allocs,
            size: cell.sizes.most(),
            sizes: cell.sizes.name().map(str::to_owned),
            front: contender.front.clone(),
            chunks: cell.chunks,
            trace: cell.trace_name().map(str::to_owned),
            alloc_ns: median(alloc),
            free_ns: median(free),
            pair_ns: median(pair).unwrap_or(f64::NAN),
            cpu_ns_per_pair: median(cpu),
            ops: 2 * rounds.iter().map(|round| round.pairs).sum::<u64>(),
            rounds: rounds.len(),
            peak_grown: bytes(|round| round.peak_grown),
            peak_grown_half: bytes(|round| round.peak_grown_half),
            peak_requested: bytes(|round| round.peak_requested),
            spread: Spread {
                alloc_ns: spread(alloc),
                free_ns: spread(free),
                pair_ns: spread(pair),
                cpu_ns_per_pair: spread(cpu),
            },
        }
    }

    /// Allocator, settings where they are not the full caches, and front.
    pub fn heap(&self) -> String {
        let config = self.config.as_deref().filter(|&config| config != "full");
        let parts = [Some(self.allocator.as_str()), config, self.front.as_deref()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// Rows as JSON, one a line.
pub fn json(rows: &[Row]) -> serde_json::Result<String> {
    let lines = rows
        .iter()
        .map(serde_json::to_string)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(format!("[\n{}\n]\n", lines.join(",\n")))
}

/// More digits than that are noise.
fn hundredths(ns: f64) -> f64 {
    (ns * 100.0).round() / 100.0
}
