//! One table a host: a line for each heap, a column for each benchmark.

use std::fmt::Write;

use super::{ALLOCS, CHARTED, chart_file, limits, line, title};
use crate::record::Record;
use crate::row::Row;
use crate::table::{Axis, number};

/// A column: what it shows, and its figure of all rows of one heap.
struct Column {
    head: &'static str,
    of: fn(&[&Row]) -> Option<f64>,
}

const COLUMNS: [Column; 9] = [
    Column {
        head: "malloc-free, 1",
        of: |rows| cpu(rows, "malloc-free", 1, ALLOCS),
    },
    Column {
        head: "malloc-free, 8",
        of: |rows| cpu(rows, "malloc-free", 8, ALLOCS),
    },
    Column {
        head: "malloc-xfree, 8",
        of: |rows| cpu(rows, "malloc-xfree", 8, ALLOCS),
    },
    Column {
        head: "prodcon, 4",
        // Long lists: with short ones the queue costs more than the heap.
        of: |rows| cpu(rows, "prodcon", 4, 256),
    },
    Column {
        head: "larson, 4",
        of: |rows| cpu(rows, "larson", 4, 256),
    },
    Column {
        head: "realloc-grow, 1",
        of: |rows| cpu(rows, "realloc-grow", 1, ALLOCS),
    },
    Column {
        head: "large, 1",
        of: |rows| cpu(rows, "large", 1, ALLOCS),
    },
    Column {
        head: "traces, 4",
        of: |rows| mean(copies(rows).map(|row| row.cpu_ns_per_pair)),
    },
    Column {
        head: "memory",
        of: |rows| mean(copies(rows).map(memory)),
    },
];

/// The generated part of the README; `folder` is where the charts are, seen from there.
pub fn text(records: &[Record], folder: &str) -> String {
    let mut text = format!(
        "{}\n\nCPU ns for one allocation and one free, over all threads: 64 B objects, {ALLOCS} a \
         cycle, by benchmark and number of producers; `prodcon` hands over 256, `larson` replaces 16 B to 2 KiB, \
         `realloc-grow` grows to 64 KiB by half at a time, `large` is 4 KiB to 1 MiB, `traces` are \
         16 copies of each of four recorded programs. *memory* is what the heap had of the \
         platform in these, as a multiple of what was asked for. Medians; heaps took turns round \
         by round in one process. `limit` is a heap that pops and pushes an array and checks \
         nothing. [All tables]({folder}/README.md), [how to read them]({folder}/README.md#reading).\n",
        limits(records)
    );
    // A record of sizes has nothing for these.
    let is_charted = |row: &Row| CHARTED.contains(&row.bench.as_str());
    let timed = records
        .iter()
        .filter(|record| record.rows.iter().any(is_charted));
    for record in timed {
        let host = &record.origin.host;
        // Writing to a string cannot fail.
        let _ = write!(text, "\n### {}\n\n{}\n", title(host), table(&record.rows));
        for bench in CHARTED {
            let file = chart_file(host, bench);
            let _ = write!(
                text,
                "\n![{bench} on {host}: latency and CPU time of a pair against producers, a line \
                 for each heap]({folder}/{file})\n"
            );
        }
        let _ = write!(text, "\n{}\n", line(&record.origin));
    }
    text
}

/// The table of one host's rows, without columns or lines that have no figure.
fn table(rows: &[Row]) -> String {
    let direct: Vec<&Row> = rows.iter().filter(|row| row.front.is_none()).collect();
    let lines: Vec<(String, Vec<Option<f64>>)> = Axis::HEAP
        .keys(&direct)
        .into_iter()
        .map(|heap| {
            let own: Vec<&Row> = direct
                .iter()
                .filter(|row| row.heap() == heap)
                .copied()
                .collect();
            (
                heap,
                COLUMNS.iter().map(|column| (column.of)(&own)).collect(),
            )
        })
        .collect();
    let shown: Vec<usize> = (0..COLUMNS.len())
        .filter(|&column| lines.iter().any(|(_, figures)| figures[column].is_some()))
        .collect();
    let mut text = "| heap |".to_owned();
    for &column in &shown {
        let _ = write!(text, " {} |", COLUMNS[column].head);
    }
    let _ = write!(text, "\n| --- |{}", " ---: |".repeat(shown.len()));
    for (heap, figures) in &lines {
        if figures.iter().all(Option::is_none) {
            continue;
        }
        let bold = if heap == "warena" { "**" } else { "" };
        let _ = write!(text, "\n| {bold}{heap}{bold} |");
        for &column in &shown {
            let _ = write!(text, " {} |", number(figures[column]));
        }
    }
    text
}

fn cpu(rows: &[&Row], bench: &str, producers: usize, allocs: usize) -> Option<f64> {
    let row = rows
        .iter()
        .find(|row| row.bench == bench && (row.producers, row.allocs) == (producers, allocs))?;
    row.cpu_ns_per_pair
}

/// The rows of the traces that were replayed in copies.
fn copies<'a>(rows: &'a [&Row]) -> impl Iterator<Item = &'a Row> {
    let copies = rows
        .iter()
        .filter(|row| row.bench == "trace" && row.producers > 1);
    copies.copied()
}

/// Bytes grown for a byte requested.
pub fn memory(row: &Row) -> Option<f64> {
    Some(row.peak_grown? as f64 / row.peak_requested? as f64)
}

/// The geometric mean, if every row has the figure and there are any.
fn mean(figures: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let figures = figures.collect::<Option<Vec<f64>>>()?;
    let logs: f64 = figures.iter().map(|figure| figure.ln()).sum();
    (!figures.is_empty()).then(|| (logs / figures.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_a_heap_and_no_empty_column() {
        let row = |allocator: &str, producers, cpu| Row {
            bench: "malloc-free".to_owned(),
            allocator: allocator.to_owned(),
            producers,
            allocs: ALLOCS,
            cpu_ns_per_pair: cpu,
            ..Row::default()
        };
        let rows = [
            row("warena", 1, Some(3.0)),
            row("talc", 1, Some(40.2)),
            row("talc", 2, Some(50.0)),
            row("unmeasured", 1, None),
        ];
        let expected = "\
| heap | malloc-free, 1 |
| --- | ---: |
| **warena** | 3.0 |
| talc | 40 |";
        assert_eq!(table(&rows), expected);
        assert_eq!(mean([Some(2.0), Some(8.0)].into_iter()), Some(4.0));
        assert_eq!(mean([Some(2.0), None].into_iter()), None);
    }
}
