//! What Warena is to reach, and what a record says of it: the cell that is farthest off counts.

use super::rows::{Bound, PAIR, Rows, SIZES, Target, ratio};
use crate::record::Record;
use crate::row::Row;
use crate::table::Figure;

const CPU: Figure = |row| row.cpu_ns_per_pair;

/// The seeds' speed-ups by their caches: allocations a cycle, then of allocating and of freeing.
const SEEDS: [(usize, f64, f64); 5] = [
    (1, 3.9, 4.4),
    (4, 4.0, 4.7),
    (16, 4.0, 4.8),
    (64, 3.2, 3.8),
    (256, 2.4, 1.9),
];

/// The targets that a record's rows can be held against, by their numbers.
pub fn of(record: &Record) -> Vec<Target> {
    let rows = Rows(&record.rows);
    let mut targets = match record.origin.host.as_str() {
        SIZES => return vec![rows.module()],
        "native" => rows.native(),
        _ => rows.wasm(),
    };
    if record.origin.host == "chrome" {
        targets.push(rows.watched());
    }
    targets.extend(rows.everywhere());
    targets.sort_by_key(|target| target.number);
    targets
}

fn lists(row: &Row) -> bool {
    matches!(row.bench.as_str(), "malloc-free" | "malloc-xfree")
}

fn busy(row: &Row) -> bool {
    matches!(row.bench.as_str(), "prodcon" | "larson") && row.producers == 4
}

fn copies(row: &Row) -> bool {
    row.bench == "trace" && row.producers == 4
}

fn peer(row: &Row) -> bool {
    row.allocator != "warena" && row.allocator != "limit"
}

impl Rows<'_> {
    /// The targets of native programs alone.
    fn native(&self) -> Vec<Target> {
        vec![
            self.most(
                3,
                "CPU of a pair, 1–8 producers ÷ the best peer's",
                1.0,
                |row| lists(row).then(|| self.best(row, CPU, peer)),
            ),
            self.most(
                6,
                "prodcon and larson, CPU of a pair, 4 producers ÷ the best peer's",
                1.2,
                |row| busy(row).then(|| self.best(row, CPU, peer)),
            ),
        ]
    }

    /// Those of every host.
    fn everywhere(&self) -> Vec<Target> {
        let speed_up = |what, figure: Figure, seeds: fn(&(usize, f64, f64)) -> f64| {
            self.least(5, what, 1.0, move |row| {
                let seed = SEEDS.iter().find(|seed| seed.0 == row.allocs)?;
                (row.bench == "malloc-free" && row.producers == 1).then(|| {
                    let slow = self.like(row, |other| other.config.as_deref() == Some("no-caches"));
                    Some(ratio(slow.and_then(figure), figure(row))? / seeds(seed))
                })
            })
        };
        vec![
            self.most(4, "pair at 64 and 256 allocs ÷ at 16", 1.3, |row| {
                (lists(row) && matches!(row.allocs, 64 | 256)).then(|| {
                    let few = |other: &Row| other.allocs == 16 && other.producers == row.producers;
                    ratio(PAIR(row), self.own(&row.bench, few).and_then(PAIR))
                })
            }),
            speed_up(
                "full ÷ no caches, allocating, 1 producer, ÷ the seeds' speed-up",
                |row| row.alloc_ns,
                |seed| seed.1,
            ),
            speed_up(
                "full ÷ no caches, freeing, 1 producer, ÷ the seeds' speed-up",
                |row| row.free_ns,
                |seed| seed.2,
            ),
            self.most(
                6,
                "larson, prodcon: memory at the end ÷ in the middle",
                1.0,
                |row| {
                    matches!(row.bench.as_str(), "larson" | "prodcon")
                        .then(|| Some(row.peak_grown? as f64 / row.peak_grown_half? as f64))
                },
            ),
            self.most(
                7,
                "16 copies of a trace: memory ÷ bytes requested",
                1.25,
                |row| copies(row).then(|| super::overview::memory(row)),
            ),
            self.most(8, "pair at 1,024 full chunks ÷ at 1", 1.2, |row| {
                (row.chunks == Some(1024)).then(|| {
                    let one = |other: &Row| other.chunks == Some(1);
                    ratio(PAIR(row), self.own("chunks", one).and_then(PAIR))
                })
            }),
            self.front(
                11,
                "pair through #[global_allocator] ÷ the direct call",
                Bound::Most(1.3),
                ("global", None),
                ratio,
            ),
        ]
    }

    /// A worker of the page.
    fn watched(&self) -> Target {
        self.front(
            12,
            "throughput of a worker, watched by the page ÷ unwatched",
            Bound::Least(0.95),
            ("watched", Some("unwatched")),
            |watched, unwatched| ratio(unwatched, watched),
        )
    }

    /// What Warena adds to a module, in KiB.
    fn module(&self) -> Target {
        let bound = Bound::Most(8.0);
        let own = |row: &&Row| row.bench == SIZES && row.allocator == "warena";
        let measured = self.worst(self.0.iter().filter(own), bound, |row| {
            let mut others = self.0.iter();
            let none = others.find(|it| it.allocator == "null" && it.config == row.config);
            Some(none.map(|none| (row.size as f64 - none.size as f64) / 1024.0))
        });
        Target {
            number: 9,
            what: "module with Warena as its #[global_allocator] − with none, KiB",
            bound,
            measured,
        }
    }

    /// The targets of WebAssembly alone.
    fn wasm(&self) -> Vec<Target> {
        let alone = |row: &Row| row.bench == "malloc-free" && row.producers == 1;
        let many = |row: &Row| lists(row) && row.producers > 1;
        let against = |row: &Row, figure: Figure, name: &'static str| {
            self.best(row, figure, |other| other.allocator.starts_with(name))
        };
        let pair = |what, bound, name| {
            self.most(1, what, bound, |row| {
                alone(row).then(|| against(row, PAIR, name))
            })
        };
        vec![
            pair("pair, 1 producer ÷ dlmalloc's", 0.5, "dlmalloc"),
            pair("pair, 1 producer ÷ the best mimalloc's", 0.5, "mimalloc"),
            pair("pair, 1 producer ÷ talc's", 0.4, "talc"),
            pair("pair, 1 producer ÷ the limit", 2.5, "limit"),
            self.most(
                2,
                "CPU of a pair, 2–8 producers ÷ the best mimalloc's",
                1.0,
                |row| many(row).then(|| against(row, CPU, "mimalloc")),
            ),
            self.most(
                2,
                "CPU of a pair, 2–8 producers ÷ own at 1",
                1.25,
                |row| {
                    many(row).then(|| {
                        let one = |other: &Row| other.producers == 1 && other.allocs == row.allocs;
                        ratio(CPU(row), self.own(&row.bench, one).and_then(CPU))
                    })
                },
            ),
            self.least(2, "throughput, 8 producers ÷ dlmalloc's", 10.0, |row| {
                (many(row) && row.producers == 8)
                    .then(|| Some(1.0 / against(row, PAIR, "dlmalloc")?))
            }),
            self.least(
                6,
                "prodcon and larson, throughput, 4 producers ÷ dlmalloc's",
                3.0,
                |row| busy(row).then(|| Some(1.0 / against(row, PAIR, "dlmalloc")?)),
            ),
            self.most(7, "16 copies of a trace: memory ÷ dlmalloc's", 1.1, |row| {
                let grown: Figure = |row| row.peak_grown.map(|bytes| bytes as f64);
                copies(row).then(|| against(row, grown, "dlmalloc"))
            }),
            self.front(
                10,
                "pair from JavaScript ÷ two exported functions",
                Bound::Most(0.5),
                ("javascript", Some("exports")),
                ratio,
            ),
        ]
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
        let measured = |index: usize| targets[index].measured.as_ref().map(|it| it.figure);
        assert_eq!(measured(0), Some(0.8));
        let worst = targets[0].measured.as_ref().unwrap();
        assert_eq!(worst.cell, "malloc-free, 1 prod, 16 allocs");
        assert!(!targets[0].met());
        assert_eq!(measured(1), Some(2.0));
        // Nobody measured talc.
        assert_eq!(measured(2), None);
        assert!(!targets[2].met());
    }

    #[test]
    fn every_target_is_of_some_record() {
        let of = |host: &str| {
            let origin = crate::record::Origin {
                host: host.to_owned(),
                ..Default::default()
            };
            let record = Record {
                origin,
                rows: Vec::new(),
            };
            super::of(&record)
        };
        let targets = ["native", "node", "chrome", "size"].map(of);
        let mut numbers: Vec<u8> = targets.iter().flatten().map(|it| it.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers, (1..=12).collect::<Vec<u8>>());
    }

    #[test]
    fn fronts_are_held_against_each_other() {
        let row = |front: Option<&str>, pair_ns| Row {
            bench: "fronts".to_owned(),
            allocator: "warena".to_owned(),
            config: Some("full".to_owned()),
            front: front.map(str::to_owned),
            pair_ns,
            ..Row::default()
        };
        let rows = [
            row(None, 4.0),
            row(Some("global"), 5.0),
            row(Some("watched"), 10.0),
            row(Some("unwatched"), 8.0),
        ];
        let figure = |target: &Target| target.measured.as_ref().map(|it| it.figure);
        let everywhere = Rows(&rows).everywhere();
        assert_eq!(everywhere.last().and_then(figure), Some(1.25));
        assert_eq!(figure(&Rows(&rows).watched()), Some(0.8));
    }
}
