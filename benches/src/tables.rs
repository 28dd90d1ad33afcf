//! Which tables a benchmark's rows come to.

use crate::absence;
use crate::cell::Bench;
use crate::row::Row;
use crate::table::{Axis, Figure, Heaps, Layers};

/// What tables show, and what of it they are called.
const PAIR: (&str, Figure) = ("latency of a pair, ns", |row| Some(row.pair_ns));
const CPU: (&str, Figure) = ("CPU time of a pair, ns", |row| row.cpu_ns_per_pair);
const ALLOC: (&str, Figure) = ("latency of an allocation, ns", |row| row.alloc_ns);
const FREE: (&str, Figure) = ("latency of a free, ns", |row| row.free_ns);
const MEMORY: (&str, Figure) = ("peak memory grown ÷ peak bytes requested", |row| {
    Some(row.peak_grown? as f64 / row.peak_requested? as f64)
});
const LATE: (&str, Figure) = ("peak memory grown, at the end ÷ in the middle", |row| {
    Some(row.peak_grown? as f64 / row.peak_grown_half? as f64)
});

/// The text of all tables of one benchmark's rows.
pub fn tables(bench: Bench, rows: &[&Row]) -> Vec<String> {
    let Some(first) = rows.first() else {
        return Vec::new();
    };
    let sizes = match (bench, &first.sizes) {
        (Bench::Trace, _) => String::new(),
        (Bench::ReallocGrow | Bench::FrontsGrow, _) => format!(", 16 B to {} B", first.size),
        (_, Some(sizes)) => format!(", {sizes} sizes up to {} B", first.size),
        (_, None) => format!(", {} B", first.size),
    };
    let head = format!("{}{sizes}", bench.name());
    let lines = match bench {
        Bench::Chunks => Axis::CHUNKS,
        Bench::Trace => Axis::TRACE,
        _ => Axis::ALLOCS,
    };
    let mut texts = Vec::new();
    for (what, figure) in layers(bench) {
        let table = Layers {
            title: format!("{head}: {what}: no-caches/full/spill-only/no-batch, no-caches ÷ full"),
            configs: vec!["no-caches", "full", "spill-only", "no-batch"],
            lines,
            figure,
        };
        texts.extend(table.of(rows));
    }
    if bench == Bench::Chunks {
        return texts;
    }
    for producers in Axis::PRODUCERS.keys(rows) {
        let of_them = |row: &&&Row| (Axis::PRODUCERS.key)(row) == producers;
        let rows: Vec<&Row> = rows.iter().filter(of_them).copied().collect();
        for (what, figure) in heaps(bench) {
            let table = Heaps {
                title: format!("{head}, producers {producers}: {what}"),
                columns: lines,
                figure,
            };
            texts.extend(table.of(&rows));
        }
    }
    let notes = [absence::notes(rows), unmeasured(bench, rows), fewer(rows)].concat();
    if !notes.is_empty() {
        texts.push(notes.join("\n") + "\n");
    }
    texts
}

/// The heaps whose memory a benchmark about memory could not measure.
fn unmeasured(bench: Bench, rows: &[&Row]) -> Vec<String> {
    if !matches!(bench, Bench::Trace | Bench::Larson | Bench::ProdCon) {
        return Vec::new();
    }
    let unknown: Vec<&Row> = rows
        .iter()
        .filter(|row| row.peak_grown.is_none())
        .copied()
        .collect();
    let heaps = Axis::HEAP.keys(&unknown).join(", ");
    if heaps.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "Memory grown is not measured of {heaps}: there is one heap for the whole run, which keeps \
         what earlier rounds left it and cannot tell what a round had."
    )]
}

/// The peers that had fewer rounds in some cell than others, with the least that they had.
fn fewer(rows: &[&Row]) -> Vec<String> {
    let all = rows.iter().map(|row| row.rounds).max().unwrap_or(0);
    let short: Vec<&Row> = rows
        .iter()
        .filter(|row| row.rounds < all)
        .copied()
        .collect();
    let heaps = Axis::HEAP.keys(&short).into_iter().map(|heap| {
        let own = short.iter().filter(|row| row.heap() == heap);
        let cells = own.clone().count();
        let least = own.map(|row| row.rounds).min().unwrap_or(0);
        format!("{heap} in {cells} cells, {least} at least")
    });
    let heaps: Vec<String> = heaps.collect();
    if heaps.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "Fewer than {all} rounds, as each took long: {}.",
        heaps.join("; ")
    )]
}

/// What Warena's settings are compared by.
fn layers(bench: Bench) -> Vec<(&'static str, Figure)> {
    match bench {
        Bench::Malloc | Bench::Calloc => vec![ALLOC],
        Bench::MallocFree | Bench::MallocXfree => vec![PAIR, CPU, ALLOC, FREE],
        Bench::Chunks => vec![PAIR, ALLOC, FREE],
        _ => Vec::new(),
    }
}

/// What all heaps are compared by.
fn heaps(bench: Bench) -> Vec<(&'static str, Figure)> {
    match bench {
        Bench::Malloc | Bench::Calloc => vec![ALLOC, PAIR],
        Bench::Trace => vec![PAIR, CPU, MEMORY],
        Bench::Larson | Bench::ProdCon => vec![PAIR, CPU, LATE],
        Bench::Fronts | Bench::FrontsGrow | Bench::Watched => vec![PAIR],
        _ => vec![PAIR, CPU],
    }
}
