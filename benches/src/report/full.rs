//! Every table of the runs, as the terminal showed them, and how to read them.

use std::fmt::Write;

use super::targets::{self, Bound};
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
* lol_alloc looks through all free blocks for one that fits, buddy_system_allocator at each free
  through those of a size for the buddy: they have no part where tens of thousands are left behind.
* Of a target the worst cell counts, and cells without the figure are passed over: short phases
  cannot be timed.
* wee_alloc is not here: it has no lock, and crashes with threads.
* mimalloc in WebAssembly is its C code with the source of `libmimalloc-sys`, one lock changed: it
  gave up after 10,000 tries and went on unlocked.
";

/// The page; `records` are the file names beside them.
pub fn text(records: &[Record], files: &[String]) -> String {
    let mut text = format!(
        "# Benchmarks: the records\n\nWritten by `cargo xtask bench report`; `cargo xtask bench \
         native|node|chrome --record` makes a record.\n\n{}\n\n## Reading\n\n{READING}",
        limits(records)
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
        let _ = write!(text, "\n{}", against_targets(record));
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
    }
    text
}

/// The targets of a record: what each must be and is, in the worst cell.
fn against_targets(record: &Record) -> String {
    let mut text =
        "| target: the worst cell | must be | is | met |\n| --- | ---: | ---: | --- |\n".to_owned();
    for target in targets::of(record) {
        let bound = match target.bound {
            Bound::Most(bound) => format!("≤ {bound}"),
            Bound::Least(bound) => format!("≥ {bound}"),
        };
        let measured = target
            .measured
            .map_or("not measured".to_owned(), |it| format!("{it:.2}"));
        let met = if target.met() { "yes" } else { "no" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {} | {bound} | {measured} | {met} |", target.what);
    }
    text
}
