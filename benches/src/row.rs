//! A row of the result: one benchmark of one heap in one cell. A JSON file is an array of rows.

use serde::Serialize;

use crate::chunks;
use crate::contender::Contender;
use crate::measure::{Cell, Sample};

/// The figures of one cell. Those in ns are medians of the rounds; one that could not be
/// measured is none, and null in JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The workload.
    pub bench: &'static str,
    /// The heap.
    pub allocator: &'static str,
    /// Warena's settings.
    pub config: Option<&'static str>,
    /// Where it ran: `native`, `node`.
    pub host: String,
    /// Producers at once.
    pub producers: usize,
    /// Objects a cycle.
    pub allocs: usize,
    /// Bytes of each.
    pub size: usize,
    /// Full chunks that the heap had before, in the benchmark that is about them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunks: Option<usize>,
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
}

impl Row {
    /// The row of a heap's figures in a cell.
    pub fn new(host: &str, contender: &Contender, cell: &Cell, figures: &Sample) -> Self {
        Self {
            bench: cell.chunks.map_or(cell.workload.name(), |_| chunks::NAME),
            allocator: contender.allocator,
            config: contender.config,
            host: host.to_owned(),
            producers: cell.producers,
            allocs: cell.allocs,
            size: cell.size,
            chunks: cell.chunks,
            alloc_ns: figures.alloc_ns.map(hundredths),
            free_ns: figures.free_ns.map(hundredths),
            pair_ns: hundredths(figures.pair_ns),
            cpu_ns_per_pair: figures.cpu_ns_per_pair.map(hundredths),
            ops: 2 * figures.pairs,
        }
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
