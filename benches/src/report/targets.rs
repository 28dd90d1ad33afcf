//! What Warena is to reach, and what a record says of it: the cell that is farthest off counts.

use crate::record::Record;
use crate::row::Row;
use crate::table::Figure;

/// One condition of a target, on one host.
pub struct Target {
    /// What is compared.
    pub what: &'static str,
    /// What it must be: at most, or at least.
    pub bound: Bound,
    /// What it is in the worst cell; none where a figure is missing.
    pub measured: Option<f64>,
}

/// The side on which a figure must be.
#[derive(Clone, Copy)]
pub enum Bound {
    /// This or less.
    Most(f64),
    /// This or more.
    Least(f64),
}

impl Target {
    /// Whether it is reached.
    pub fn met(&self) -> bool {
        match (self.bound, self.measured) {
            (_, None) => false,
            (Bound::Most(bound), Some(measured)) => measured <= bound,
            (Bound::Least(bound), Some(measured)) => measured >= bound,
        }
    }
}

const PAIR: Figure = |row| Some(row.pair_ns);
const CPU: Figure = |row| row.cpu_ns_per_pair;

/// The seeds' speed-ups by their caches: allocations a cycle, then of allocating and of freeing.
const SEEDS: [(usize, f64, f64); 5] = [
    (1, 3.9, 4.4),
    (4, 4.0, 4.7),
    (16, 4.0, 4.8),
    (64, 3.2, 3.8),
    (256, 2.4, 1.9),
];

/// The targets that a record's rows can be held against.
pub fn of(record: &Record) -> Vec<Target> {
    let rows = Rows(&record.rows);
    let mut targets = Vec::new();
    if record.origin.host == "native" {
        targets.push(rows.most(
            "CPU of a pair, 1–8 producers ÷ the best peer's",
            1.0,
            |row| {
                LISTS
                    .contains(&row.bench.as_str())
                    .then(|| rows.best(row, CPU, peer))
            },
        ));
        targets.push(rows.most(
            "prodcon and larson, 4 producers ÷ the best peer's",
            1.2,
            |row| busy(row).then(|| rows.best(row, CPU, peer)),
        ));
    } else {
        targets.extend(rows.wasm());
    }
    targets.push(rows.most("pair at 64 and 256 allocs ÷ at 16", 1.3, |row| {
        let more = matches!(row.allocs, 64 | 256) && LISTS.contains(&row.bench.as_str());
        more.then(|| {
            let few = |other: &Row| other.allocs == 16 && other.producers == row.producers;
            ratio(PAIR(row), rows.own(&row.bench, few).and_then(PAIR))
        })
    }));
    for (what, figure, seeds) in [
        (
            "full ÷ no caches, allocating, 1 producer, ÷ the seeds' speed-up",
            (|row| row.alloc_ns) as Figure,
            (|seed| seed.1) as fn(&(usize, f64, f64)) -> f64,
        ),
        (
            "full ÷ no caches, freeing, 1 producer, ÷ the seeds' speed-up",
            |row| row.free_ns,
            |seed| seed.2,
        ),
    ] {
        targets.push(rows.least(what, 1.0, |row| {
            let seed = SEEDS.iter().find(|seed| seed.0 == row.allocs)?;
            (row.bench == "malloc-free" && row.producers == 1).then(|| {
                let slow = rows.like(row, |other| other.config.as_deref() == Some("no-caches"));
                Some(ratio(slow.and_then(figure), figure(row))? / seeds(seed))
            })
        }));
    }
    targets.push(rows.most(
        "larson, prodcon: memory at the end ÷ in the middle",
        1.0,
        |row| {
            matches!(row.bench.as_str(), "larson" | "prodcon")
                .then(|| Some(row.peak_grown? as f64 / row.peak_grown_half? as f64))
        },
    ));
    targets.push(rows.most(
        "16 copies of a trace: memory ÷ bytes requested",
        1.25,
        |row| copies(row).then(|| super::overview::memory(row)),
    ));
    targets.push(rows.most("pair at 1,024 full chunks ÷ at 1", 1.2, |row| {
        (row.chunks == Some(1024)).then(|| {
            let one = |other: &Row| other.chunks == Some(1);
            ratio(PAIR(row), rows.own("chunks", one).and_then(PAIR))
        })
    }));
    targets
}

const LISTS: [&str; 2] = ["malloc-free", "malloc-xfree"];

fn busy(row: &Row) -> bool {
    matches!(row.bench.as_str(), "prodcon" | "larson") && row.producers == 4
}

fn copies(row: &Row) -> bool {
    row.bench == "trace" && row.producers == 4
}

fn peer(row: &Row) -> bool {
    row.allocator != "warena" && row.allocator != "limit"
}

fn ratio(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    Some(one? / other?)
}

/// The rows of a record.
struct Rows<'a>(&'a [Row]);

impl Rows<'_> {
    /// The targets of WebAssembly alone.
    fn wasm(&self) -> Vec<Target> {
        let alone = |row: &Row| row.bench == "malloc-free" && row.producers == 1;
        let many = |row: &Row| LISTS.contains(&row.bench.as_str()) && row.producers > 1;
        let against = |row: &Row, figure: Figure, name: &'static str| {
            self.best(row, figure, |other| other.allocator.starts_with(name))
        };
        let pair = |what, bound, name| {
            self.most(what, bound, |row| {
                alone(row).then(|| against(row, PAIR, name))
            })
        };
        vec![
            pair("pair, 1 producer ÷ dlmalloc's", 0.5, "dlmalloc"),
            pair("pair, 1 producer ÷ the best mimalloc's", 0.5, "mimalloc"),
            pair("pair, 1 producer ÷ talc's", 0.4, "talc"),
            pair("pair, 1 producer ÷ the limit", 2.5, "limit"),
            self.most(
                "CPU of a pair, 2–8 producers ÷ the best mimalloc's",
                1.0,
                |row| many(row).then(|| against(row, CPU, "mimalloc")),
            ),
            self.most("CPU of a pair, 2–8 producers ÷ own at 1", 1.25, |row| {
                many(row).then(|| {
                    let one = |other: &Row| other.producers == 1 && other.allocs == row.allocs;
                    ratio(CPU(row), self.own(&row.bench, one).and_then(CPU))
                })
            }),
            self.least("throughput, 8 producers ÷ dlmalloc's", 10.0, |row| {
                (many(row) && row.producers == 8)
                    .then(|| Some(1.0 / against(row, PAIR, "dlmalloc")?))
            }),
            self.least(
                "prodcon and larson, throughput, 4 producers ÷ dlmalloc's",
                3.0,
                |row| busy(row).then(|| Some(1.0 / against(row, PAIR, "dlmalloc")?)),
            ),
            self.most("16 copies of a trace: memory ÷ dlmalloc's", 1.1, |row| {
                let grown: Figure = |row| row.peak_grown.map(|bytes| bytes as f64);
                copies(row).then(|| against(row, grown, "dlmalloc"))
            }),
            Target {
                what: "pair from JavaScript ÷ two exported functions",
                bound: Bound::Most(0.5),
                measured: self.worst(
                    self.0
                        .iter()
                        .filter(|row| row.front.as_deref() == Some("javascript")),
                    f64::max,
                    |row| {
                        let exports =
                            self.like(row, |other| other.front.as_deref() == Some("exports"));
                        Some(ratio(PAIR(row), exports.and_then(PAIR)))
                    },
                ),
            },
        ]
    }

    /// A row of the full caches, called directly.
    fn own(&self, bench: &str, which: impl Fn(&Row) -> bool) -> Option<&Row> {
        self.full().find(|row| row.bench == bench && which(row))
    }

    fn full(&self) -> impl Iterator<Item = &Row> {
        let full = |row: &&Row| row.config.as_deref() == Some("full") && row.front.is_none();
        self.0.iter().filter(full)
    }

    /// A row of the same cell.
    fn like<'a>(&'a self, row: &'a Row, which: impl Fn(&Row) -> bool) -> Option<&'a Row> {
        self.cell(row).find(|other| which(other))
    }

    fn cell<'a>(&'a self, row: &'a Row) -> impl Iterator<Item = &'a Row> {
        self.0.iter().filter(|other| {
            (&other.bench, other.producers, other.allocs, &other.trace)
                == (&row.bench, row.producers, row.allocs, &row.trace)
        })
    }

    /// A row's figure as a multiple of the least that one of these has in the same cell.
    fn best(&self, row: &Row, figure: Figure, which: impl Fn(&Row) -> bool) -> Option<f64> {
        let others = self.cell(row).filter(|other| which(other));
        let best = others.filter_map(figure).min_by(f64::total_cmp);
        ratio(figure(row), best)
    }

    /// The largest of what `of` says of Warena's rows; a row that it has no part in says nothing.
    fn most(
        &self,
        what: &'static str,
        bound: f64,
        of: impl Fn(&Row) -> Option<Option<f64>>,
    ) -> Target {
        Target {
            what,
            bound: Bound::Most(bound),
            measured: self.worst(self.full(), f64::max, of),
        }
    }

    /// The same of the smallest.
    fn least(
        &self,
        what: &'static str,
        bound: f64,
        of: impl Fn(&Row) -> Option<Option<f64>>,
    ) -> Target {
        Target {
            what,
            bound: Bound::Least(bound),
            measured: self.worst(self.full(), f64::min, of),
        }
    }

    fn worst<'a>(
        &self,
        rows: impl Iterator<Item = &'a Row>,
        worse: fn(f64, f64) -> f64,
        of: impl Fn(&Row) -> Option<Option<f64>>,
    ) -> Option<f64> {
        rows.filter_map(of).flatten().reduce(worse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_cell_counts() {
        let row = |allocator: &str, allocs, pair_ns| Row {
            bench: "malloc-free".to_owned(),
            allocator: allocator.to_owned(),
            config: (allocator == "warena").then(|| "full".to_owned()),
            producers: 1,
            allocs,
            pair_ns,
            ..Row::default()
        };
        let rows = [
            row("warena", 1, 3.0),
            row("dlmalloc", 1, 30.0),
            row("warena", 16, 20.0),
            row("dlmalloc", 16, 25.0),
            row("mimalloc-v2", 16, 10.0),
        ];
        let targets = Rows(&rows).wasm();
        assert_eq!(targets[0].measured, Some(0.8));
        assert!(!targets[0].met());
        assert_eq!(targets[1].measured, Some(2.0));
        // Nobody measured talc.
        assert_eq!(targets[2].measured, None);
        assert!(!targets[2].met());
    }
}
