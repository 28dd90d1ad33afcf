//! Rows as text.
//!
//! [`Layers`] is the table that the seeds print: a line for each number of allocations, a column
//! for each number of producers, and in each cell Warena's settings side by side and a ratio.
//! [`Heaps`] has a line for each heap and a column for each number of allocations.

use std::fmt::Write;

use crate::row::Row;

/// A key of rows, by which they are put into lines or columns.
#[derive(Clone, Copy)]
pub struct Axis {
    /// What stands above or before the keys.
    pub head: &'static str,
    /// The key of a row.
    pub key: fn(&Row) -> String,
}

impl Axis {
    /// Producers at once.
    pub const PRODUCERS: Self = Self {
        head: "prod",
        key: |row| row.producers.to_string(),
    };
    /// Objects a cycle.
    pub const ALLOCS: Self = Self {
        head: "allocs",
        key: |row| row.allocs.to_string(),
    };
    /// Full chunks.
    pub const CHUNKS: Self = Self {
        head: "chunks",
        key: |row| row.chunks.unwrap_or(0).to_string(),
    };
    /// Traces.
    pub const TRACE: Self = Self {
        head: "trace",
        key: |row| row.trace.clone().unwrap_or_default(),
    };

    /// Heaps.
    pub const HEAP: Self = Self {
        head: "heap",
        key: Row::heap,
    };

    /// The keys of these rows, in their order.
    pub fn keys(self, rows: &[&Row]) -> Vec<String> {
        let mut keys: Vec<String> = Vec::new();
        for row in rows {
            let key = (self.key)(row);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }
}

/// A figure of a row.
pub type Figure = fn(&Row) -> Option<f64>;

/// Warena's settings in each cell.
pub struct Layers {
    /// What stands above it.
    pub title: String,
    /// The settings, by their names. The ratio divides the first by the second.
    pub configs: Vec<&'static str>,
    /// The lines; the columns are producers.
    pub lines: Axis,
    /// The figure.
    pub figure: Figure,
}

impl Layers {
    /// The table of these rows, all of one benchmark, or `None` if none has the figure.
    pub fn of(&self, rows: &[&Row]) -> Option<String> {
        let own: Vec<&Row> = rows
            .iter()
            .filter(|row| row.config.is_some() && row.front.is_none())
            .copied()
            .collect();
        own.iter().find_map(|row| (self.figure)(row))?;
        let columns = Axis::PRODUCERS.keys(&own);
        let lines = self.lines.keys(&own).into_iter().map(|line| {
            let cells = columns.iter().map(|column| self.cell(&own, &line, column));
            let cells = cells.collect();
            (line, cells)
        });
        let heads: Vec<String> = columns
            .iter()
            .map(|count| format!("{count} prod"))
            .collect();
        let lines = lines.collect();
        Some(text(&self.title, self.lines.head, &heads, lines))
    }

    fn cell(&self, rows: &[&Row], line: &str, column: &str) -> String {
        let figures: Vec<Option<f64>> = self
            .configs
            .iter()
            .map(|&config| {
                let row = rows.iter().find(|row| {
                    row.config.as_deref() == Some(config)
                        && (self.lines.key)(row) == line
                        && (Axis::PRODUCERS.key)(row) == column
                })?;
                (self.figure)(row)
            })
            .collect();
        let shown: Vec<String> = figures.iter().map(|figure| number(*figure)).collect();
        let ratio = match (figures[0], figures[1]) {
            (Some(first), Some(second)) if second > 0.0 => format!("{:.1}x", first / second),
            _ => "-".to_owned(),
        };
        format!("{} {ratio}", shown.join("/"))
    }
}

/// All heaps side by side.
pub struct Heaps {
    /// What stands above it.
    pub title: String,
    /// The columns.
    pub columns: Axis,
    /// The figure.
    pub figure: Figure,
}

impl Heaps {
    /// The table of these rows, all of one benchmark and number of producers, or `None` if none
    /// has the figure.
    pub fn of(&self, rows: &[&Row]) -> Option<String> {
        rows.iter().find_map(|row| (self.figure)(row))?;
        let columns = self.columns.keys(rows);
        let mut lines: Vec<(String, Vec<String>)> = Vec::new();
        for heap in Axis::HEAP.keys(rows) {
            let own: Vec<&&Row> = rows.iter().filter(|row| row.heap() == heap).collect();
            let cells = columns.iter().map(|column| {
                let row = own.iter().find(|row| (self.columns.key)(row) == *column);
                number(row.and_then(|row| (self.figure)(row)))
            });
            let cells: Vec<String> = cells.collect();
            if cells.iter().any(|cell| cell != NOTHING) {
                lines.push((heap, cells));
            }
        }
        Some(text(&self.title, self.columns.head, &columns, lines))
    }
}

/// Lines of cells, each column as wide as it must be.
fn text(title: &str, head: &str, heads: &[String], lines: Vec<(String, Vec<String>)>) -> String {
    let first = lines.iter().map(|(name, _)| name.len());
    let first = first.chain([head.len()]).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heads.len())
        .map(|column| {
            let cells = lines.iter().map(|(_, cells)| cells[column].len());
            cells.chain([heads[column].len()]).max().unwrap_or(0) + 2
        })
        .collect();
    let mut text = format!("{title}\n");
    let mut line = |name: &str, cells: &[String]| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{name:>first$}");
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(text, "{cell:>width$}");
        }
        text.push('\n');
    };
    line(head, heads);
    for (name, cells) in &lines {
        line(name, cells);
    }
    text
}

/// What stands where nothing was measured.
const NOTHING: &str = "-";

/// A figure as people read it.
pub fn number(figure: Option<f64>) -> String {
    match figure {
        None => NOTHING.to_owned(),
        Some(ns) if ns < 9.95 => format!("{ns:.1}"),
        Some(ns) => format!("{ns:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(config: &str, producers: usize, allocs: usize, pair_ns: f64) -> Row {
        Row {
            bench: "malloc-free".to_owned(),
            allocator: "warena".to_owned(),
            config: Some(config.to_owned()),
            producers,
            allocs,
            alloc_ns: (allocs > 1).then_some(pair_ns / 2.0),
            pair_ns,
            ..Row::default()
        }
    }

    fn rows() -> [Row; 7] {
        let peer = Row {
            allocator: "limit".to_owned(),
            config: None,
            ..row("", 1, 16, 2.0)
        };
        [
            row("no-caches", 1, 1, 180.4),
            row("full", 1, 1, 4.5),
            row("no-caches", 1, 16, 200.0),
            row("full", 1, 16, 9.96),
            peer,
            row("no-caches", 8, 1, 5000.0),
            row("full", 8, 1, 4.04),
        ]
    }

    fn words(text: &str) -> Vec<Vec<&str>> {
        let words = |line| str::split_whitespace(line).collect();
        text.lines().map(words).collect()
    }

    fn layers(figure: Figure) -> Option<String> {
        let table = Layers {
            title: "pairs".to_owned(),
            configs: vec!["no-caches", "full"],
            lines: Axis::ALLOCS,
            figure,
        };
        table.of(&rows().each_ref())
    }

    #[test]
    fn lays_out_as_the_seeds_do() {
        let expected = "\
pairs
allocs         1 prod           8 prod
     1  180/4.5 40.1x  5000/4.0 1237.6x
    16   200/10 20.1x            -/- -
";
        let text = layers(|row| Some(row.pair_ns)).unwrap();
        assert_eq!(words(&text), words(expected));
        let widths: Vec<usize> = text.lines().skip(1).map(str::len).collect();
        assert!(widths.windows(2).all(|pair| pair[0] == pair[1]), "{text}");
    }

    #[test]
    fn what_was_not_measured_is_a_dash_and_nothing_measured_is_no_table() {
        assert!(layers(|row| row.alloc_ns).unwrap().contains("-/- -"));
        assert_eq!(layers(|row| row.free_ns), None);
    }

    #[test]
    fn a_line_for_each_heap() {
        let table = Heaps {
            title: "pairs".to_owned(),
            columns: Axis::ALLOCS,
            figure: |row| Some(row.pair_ns),
        };
        let rows = rows();
        let alone: Vec<&Row> = rows.iter().filter(|row| row.producers == 1).collect();
        let expected = "\
pairs
allocs 1 16
warena no-caches 180 200
warena 4.5 10
limit - 2.0
";
        assert_eq!(words(&table.of(&alone).unwrap()), words(expected));
    }
}
