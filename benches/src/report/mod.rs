//! What is published of records: tables in Markdown, and charts.
//!
//! ```text
//!   record ─┬─ overview.rs ── a table a host ──────────▶ README.md, between its two marks
//!           ├─ chart.rs ───── latency and CPU time ────▶ benches/record/<host>-<bench>.svg
//!           └─ full.rs ────── targets.rs, every table ─▶ benches/record/README.md
//! ```

pub mod chart;
pub mod full;
pub mod overview;
pub mod rows;
pub mod targets;

use anyhow::{Context, Result};

use crate::record::{Origin, Record};

/// What stands around the generated part of a page.
const MARKS: [&str; 2] = ["<!-- benchmarks -->", "<!-- /benchmarks -->"];

/// The benchmarks that have a chart.
pub const CHARTED: [&str; 2] = ["malloc-free", "malloc-xfree"];

/// The number of objects a cycle that overviews and charts show.
pub const ALLOCS: usize = 16;

/// Puts `text` between the marks of a page.
pub fn insert(page: &str, text: &str) -> Result<String> {
    let missing = || format!("the page has no {} … {}", MARKS[0], MARKS[1]);
    let (before, rest) = page.split_once(MARKS[0]).with_context(missing)?;
    let (_, after) = rest.split_once(MARKS[1]).with_context(missing)?;
    Ok(format!(
        "{before}{}\n\n{}\n\n{}{after}",
        MARKS[0],
        text.trim(),
        MARKS[1]
    ))
}

/// The name of a chart's file.
pub fn chart_file(host: &str, bench: &str) -> String {
    format!("{host}-{bench}.svg")
}

/// Day and machine of a record, in a line.
pub fn line(origin: &Origin) -> String {
    let Origin {
        date,
        processor,
        cores,
        memory,
        system,
        engine,
        compiler,
        commit,
        ..
    } = origin;
    let engine = if engine.is_empty() {
        String::new()
    } else {
        format!("{engine}; ")
    };
    format!(
        "{date}: {engine}{cores} × {processor}, {} GiB, {system}; {compiler}; commit `{commit}`.",
        memory.div_ceil(1 << 30)
    )
}

/// What the machine of these records could not show; it stands above everything.
pub fn limits(records: &[Record]) -> String {
    let cores = records.iter().map(|record| record.origin.cores).min();
    let cores = cores.unwrap_or(0);
    format!(
        "**What {cores} processors cannot show:** more than {cores} producers take turns, so their \
         latency includes the wait for a processor, and a lock is fought over by {cores} at a time \
         at most. Only CPU time, over all threads, says there what an operation costs, and how this \
         goes on with more processors these figures do not say."
    )
}

/// A host's name for people.
pub fn title(host: &str) -> &str {
    match host {
        "native" => "Native threads",
        "node" => "Node, `worker_threads`",
        "chrome" => "Chromium, Web Workers",
        "size" => "Module size",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let page = format!("a\n{}\nold\n{}\nb\n", MARKS[0], MARKS[1]);
        let new = insert(&page, "new").unwrap();
        assert_eq!(new, format!("a\n{}\n\nnew\n\n{}\nb\n", MARKS[0], MARKS[1]));
        assert_eq!(insert(&new, "new").unwrap(), new);
        assert!(insert("no marks", "new").is_err());
    }
}
