//! Heaps that are left out of cells which they could take part in, because one round of them takes
//! minutes. Who is left out, and why, stands below the tables that lack it.

use crate::cell::{Bench, Cell};
use crate::row::Row;

/// A heap and the cells that it has no part in. All of them are peers in WebAssembly.
struct Absence {
    allocator: &'static str,
    benches: &'static [Bench],
    /// With so many producers or more.
    producers: usize,
    why: &'static str,
}

const ABSENCES: [Absence; 2] = [
    Absence {
        allocator: "lol_alloc",
        benches: &[Bench::Trace, Bench::Larson],
        producers: 1,
        why: "it looks through all free blocks for the first that fits, thousands here",
    },
    Absence {
        allocator: "buddy_system_allocator",
        benches: &[Bench::Trace],
        producers: 2,
        why: "at each free it looks through the free blocks of a size for the buddy, tens of \
              thousands here",
    },
];

impl Absence {
    fn covers(&self, bench: &str, producers: usize) -> bool {
        let benches = self.benches.iter();
        producers >= self.producers && benches.map(|it| it.name()).any(|name| name == bench)
    }
}

/// Whether an allocator is left out of a cell.
pub fn is_absent(allocator: &str, cell: &Cell) -> bool {
    ABSENCES.iter().any(|absence| {
        absence.allocator == allocator && absence.covers(cell.bench.name(), cell.producers)
    })
}

/// Who is left out of these rows, a line for each.
pub fn notes(rows: &[&Row]) -> Vec<String> {
    let left_out = ABSENCES.iter().filter(|absence| {
        rows.iter()
            .any(|row| row.host != "native" && absence.covers(&row.bench, row.producers))
    });
    left_out
        .map(|absence| {
            let from = match absence.producers {
                1 => String::new(),
                producers => format!(" from {producers} producers on"),
            };
            let Absence { allocator, why, .. } = absence;
            format!("{allocator} is left out{from}, as a round takes minutes: {why}.")
        })
        .collect()
}
