//! Rows as the tables that the seeds print: a line for each number of allocations, a column for
//! each number of producers, and in each cell the heaps side by side and a ratio.

use std::fmt::Write;

use crate::row::Row;

/// A heap in a table: allocator and settings.
pub type Series = (&'static str, Option<&'static str>);

/// What a table shows.
pub struct Table {
    /// What stands above it.
    pub title: String,
    /// The heaps in each cell.
    pub series: Vec<Series>,
    /// Which two of them, by position, the ratio divides: first by second.
    pub ratio: (usize, usize),
    /// The figure.
    pub figure: fn(&Row) -> Option<f64>,
}

impl Table {
    /// The table of these rows, all of one benchmark, or `None` if none has the figure.
    pub fn of(&self, rows: &[&Row]) -> Option<String> {
        rows.iter().find_map(|row| (self.figure)(row))?;
        let lines = distinct(rows, |row| row.allocs);
        let columns = distinct(rows, |row| row.producers);
        let cells: Vec<Vec<String>> = lines
            .iter()
            .map(|&allocs| {
                let cell = |&producers: &usize| self.cell(rows, allocs, producers);
                columns.iter().map(cell).collect()
            })
            .collect();
        let widths: Vec<usize> = (0..columns.len())
            .map(|column| {
                let widest = cells.iter().map(|line| line[column].len()).max();
                widest.unwrap_or(0).max("8 prod".len()) + 2
            })
            .collect();

        let mut text = format!("{}\n", self.title);
        let mut line = |head: &str, cells: &[String]| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{head:>6}");
            for (cell, width) in cells.iter().zip(&widths) {
                let _ = write!(text, "{cell:>width$}");
            }
            text.push('\n');
        };
        let heads: Vec<String> = columns
            .iter()
            .map(|count| format!("{count} prod"))
            .collect();
        line("allocs", &heads);
        for (allocs, cells) in lines.iter().zip(&cells) {
            line(&allocs.to_string(), cells);
        }
        Some(text)
    }

    fn cell(&self, rows: &[&Row], allocs: usize, producers: usize) -> String {
        let figures: Vec<Option<f64>> = self
            .series
            .iter()
            .map(|&series| {
                let row = rows.iter().find(|row| {
                    (row.allocator, row.config) == series
                        && (row.allocs, row.producers) == (allocs, producers)
                })?;
                (self.figure)(row)
            })
            .collect();
        let shown: Vec<String> = figures.iter().map(|figure| number(*figure)).collect();
        let ratio = match (figures[self.ratio.0], figures[self.ratio.1]) {
            (Some(first), Some(second)) if second > 0.0 => format!("{:.1}x", first / second),
            _ => "-".to_owned(),
        };
        format!("{} {ratio}", shown.join("/"))
    }
}

/// The values of a key, lowest first.
fn distinct(rows: &[&Row], key: fn(&Row) -> usize) -> Vec<usize> {
    let mut values: Vec<usize> = rows.iter().map(|row| key(row)).collect();
    values.sort_unstable();
    values.dedup();
    values
}

fn number(figure: Option<f64>) -> String {
    match figure {
        None => "-".to_owned(),
        Some(ns) if ns < 9.95 => format!("{ns:.1}"),
        Some(ns) => format!("{ns:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(config: &'static str, producers: usize, allocs: usize, pair_ns: f64) -> Row {
        Row {
            bench: "malloc-free",
            allocator: "warena",
            config: Some(config),
            host: "native".to_owned(),
            producers,
            allocs,
            size: 64,
            chunks: None,
            alloc_ns: (allocs > 1).then_some(pair_ns / 2.0),
            free_ns: None,
            pair_ns,
            cpu_ns_per_pair: None,
            ops: 2,
        }
    }

    fn table(figure: fn(&Row) -> Option<f64>) -> Option<String> {
        let rows = [
            row("no-caches", 1, 1, 180.4),
            row("full", 1, 1, 4.5),
            row("no-caches", 8, 1, 5000.0),
            row("full", 8, 1, 4.04),
            row("no-caches", 1, 16, 200.0),
            row("full", 1, 16, 9.96),
        ];
        let table = Table {
            title: "pairs".to_owned(),
            series: vec![("warena", Some("no-caches")), ("warena", Some("full"))],
            ratio: (0, 1),
            figure,
        };
        table.of(&rows.each_ref())
    }

    #[test]
    fn lays_out_as_the_seeds_do() {
        let expected = "\
pairs
allocs         1 prod           8 prod
     1  180/4.5 40.1x  5000/4.0 1237.6x
    16   200/10 20.1x            -/- -
";
        let lines = |text: &str| -> Vec<Vec<String>> {
            let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
            text.lines().map(words).collect()
        };
        let text = table(|row| Some(row.pair_ns)).unwrap();
        assert_eq!(lines(&text), lines(expected));
        let widths: Vec<usize> = text.lines().skip(1).map(str::len).collect();
        assert!(widths.windows(2).all(|pair| pair[0] == pair[1]), "{text}");
    }

    #[test]
    fn what_was_not_measured_is_a_dash_and_nothing_measured_is_no_table() {
        assert!(table(|row| row.alloc_ns).unwrap().contains("-/- -"));
        assert_eq!(table(|row| row.free_ns), None);
    }
}
