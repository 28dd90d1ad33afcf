//! Every table of the runs, as the terminal showed them, and how to read them.

use std::fmt::Write;

use super::rows::{Bound, Measured, SIZES, Target};
use super::targets;
use super::{limits, line, title};
use crate::cell::Bench;
use crate::record::Record;
use crate::row::Row;
use crate::tables::tables;

const READING: &str = "\
* A pair is one allocation and one free, as a producer sees it: of `n` producers all together make
  one in a `n`-th of its latency. CPU time is that of the whole process.
* Every figure is the median of the rounds; the records have the least and the most beside it. In
  a round each heap has its turn, and is new where it can be: the peers that are the process's own
  keep what they had.
* `no-caches`, `spill-only` and `no-batch` are Warena without its caches, without the transfer
  caches, and moving one object at a time.
* Every object is stamped by its producer and checked when it is freed, in the timed cycles, by the
  same code for all heaps; a heap that can be asked whether it is in order, and empty, is.
* rpmalloc's crate has no realloc of its own: it moves always. lol_alloc and
  buddy_system_allocator have none either.
* Of a target, cells without the figure are passed over: short phases cannot be timed.
* A heap whose rounds take long has fewer of them, and one whose rounds take minutes is left out: both
  are said below the tables.
* `global` is Warena as the program's `#[global_allocator]`, `javascript` the package, `exports` two
  exported functions, `c-imports` the names of C that another module imports; `watched` is a worker of
  the visualiser while the page draws.
* wee_alloc is not here: it has no lock, and crashes with threads.
* mimalloc in WebAssembly is its C code with the source of `libmimalloc-sys`, one lock changed: it
  gave up after 10,000 tries and went on unlocked.
";

/// The page; `records` are the file names beside them.
pub fn text(records: &[Record], files: &[String]) -> String {
    let mut text = format!(
        "# Benchmarks: the records\n\nWritten by `cargo xtask bench report`; `cargo xtask bench \
         native|node|chrome --record` makes a record.\n\n{}\n\n\
         What was changed for speed, with the figures before and after, what was tried and dropped, and \
         why a target is missed: [changes.md](changes.md).\n\n## Targets\n\nThe worst cell counts, and \
         stands beside its figure.\n\n{}\n## Reading\n\n{READING}",
        limits(records),
        against_targets(records)
    );
    for (record, file) in records.iter().zip(files) {
        let origin = &record.origin;
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n## {}\n\n{} Record: [{file}]({file})",
            title(&origin.host),
            line(origin)
        );
        let _ = match origin.flags.as_str() {
            "" => writeln!(text, "."),
            flags => writeln!(text, ", made with `{flags}`."),
        };
        for bench in Bench::ALL {
            let rows = record.rows.iter().filter(|row| row.bench == bench.name());
            let rows: Vec<&Row> = rows.collect();
            if rows.is_empty() {
                continue;
            }
            let _ = write!(text, "\n### {}\n\n```text\n", bench.name());
            let texts = tables(bench, &rows);
            let _ = writeln!(text, "{}```", texts.join("\n"));
        }
        text += &sizes(&record.rows);
    }
    text
}

/// What modules weigh that have one allocator or another, where a record says so.
fn sizes(rows: &[Row]) -> String {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.bench == SIZES).collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut text = "\n| module with | built for | bytes |\n| --- | --- | ---: |\n".to_owned();
    for row in rows {
        let build = row.config.as_deref().unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {} | {build} | {} |", row.allocator, row.size);
    }
    text
}

/// The targets against the records: a line for each condition, and what it is in the worst cell.
fn against_targets(records: &[Record]) -> String {
    let columns: Vec<Vec<Target>> = records.iter().map(targets::of).collect();
    let mut lines: Vec<(u8, &str, Bound)> = Vec::new();
    for target in columns.iter().flatten() {
        let line = (target.number, target.what, target.bound);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.sort_by_key(|line| line.0);
    let mut text = "| # | target | must be |".to_owned();
    for record in records {
        // Writing to a string cannot fail.
        let _ = write!(text, " {} |", title(&record.origin.host));
    }
    let _ = writeln!(
        text,
        "\n| ---: | --- | ---: |{}",
        " --- |".repeat(records.len())
    );
    for (number, what, bound) in lines {
        let must = match bound {
            Bound::Most(bound) => format!("≤ {bound}"),
            Bound::Least(bound) => format!("≥ {bound}"),
        };
        let _ = write!(text, "| {number} | {what} | {must} |");
        for column in &columns {
            let target = column.iter().find(|target| target.what == what);
            let _ = write!(text, " {} |", target.map_or("–".to_owned(), outcome));
        }
        text.push('\n');
    }
    text
}

/// What a condition is on a host.
fn outcome(target: &Target) -> String {
    match &target.measured {
        None => "not measured".to_owned(),
        Some(Measured { figure, cell }) if target.met() => format!("{figure:.2}, met ({cell})"),
        Some(Measured { figure, cell }) => format!("**{figure:.2}, not met** ({cell})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Origin;

    #[test]
    fn a_line_a_condition_and_a_column_a_record() {
        let row = |allocator: &str, size| Row {
            bench: "size".to_owned(),
            allocator: allocator.to_owned(),
            config: Some("release".to_owned()),
            size,
            ..Row::default()
        };
        let record = |host: &str, rows| Record {
            origin: Origin {
                host: host.to_owned(),
                ..Origin::default()
            },
            rows,
        };
        let records = [
            record("chrome", Vec::new()),
            record("size", vec![row("warena", 10 << 10), row("null", 1 << 10)]),
        ];
        let text = against_targets(&records);
        assert!(
            text.contains("| ≤ 8 | – | **9.00, not met** (release) |"),
            "{text}"
        );
        assert!(text.contains("| ≥ 0.95 | not measured | – |"), "{text}");
    }
}
