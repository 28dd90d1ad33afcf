//! Rows of a record, held against each other: the cell that is farthest off counts.

use crate::row::Row;
use crate::table::Figure;

/// The host of a record of module sizes: its rows have the bytes of a module as their size.
pub const SIZES: &str = "size";

/// ns of a pair.
pub const PAIR: Figure = |row| Some(row.pair_ns);

/// One condition of a target, on one host.
pub struct Target {
    /// Which of the twelve targets it belongs to.
    pub number: u8,
    /// What is compared.
    pub what: &'static str,
    /// What it must be: at most, or at least.
    pub bound: Bound,
    /// What it is in the worst cell; none where a figure is missing.
    pub measured: Option<Measured>,
}

/// What a condition comes to.
#[derive(Debug, PartialEq)]
pub struct Measured {
    /// The figure.
    pub figure: f64,
    /// The cell that it is of, for people.
    pub cell: String,
}

/// The side on which a figure must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// This or less.
    Most(f64),
    /// This or more.
    Least(f64),
}

impl Target {
    /// Whether it is reached.
    pub fn met(&self) -> bool {
        let figure = self.measured.as_ref().map(|measured| measured.figure);
        match (self.bound, figure) {
            (_, None) => false,
            (Bound::Most(bound), Some(figure)) => figure <= bound,
            (Bound::Least(bound), Some(figure)) => figure >= bound,
        }
    }
}

/// One figure as a multiple of another.
pub fn ratio(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    Some(one? / other?)
}

/// The rows of a record.
pub struct Rows<'a>(pub &'a [Row]);

impl Rows<'_> {
    /// A row of the full caches, called directly.
    pub fn own(&self, bench: &str, which: impl Fn(&Row) -> bool) -> Option<&Row> {
        self.full().find(|row| row.bench == bench && which(row))
    }

    /// All rows of the full caches, called directly.
    pub fn full(&self) -> impl Iterator<Item = &Row> {
        let full = |row: &&Row| row.config.as_deref() == Some("full") && row.front.is_none();
        self.0.iter().filter(full)
    }

    /// A row of the same cell.
    pub fn like<'a>(&'a self, row: &'a Row, which: impl Fn(&Row) -> bool) -> Option<&'a Row> {
        self.cell(row).find(|other| which(other))
    }

    fn cell<'a>(&'a self, row: &'a Row) -> impl Iterator<Item = &'a Row> {
        self.0.iter().filter(|other| {
            (&other.bench, other.producers, other.allocs, &other.trace)
                == (&row.bench, row.producers, row.allocs, &row.trace)
        })
    }

    /// A row's figure as a multiple of the least that one of these has in the same cell.
    pub fn best(&self, row: &Row, figure: Figure, which: impl Fn(&Row) -> bool) -> Option<f64> {
        let others = self.cell(row).filter(|other| which(other));
        let best = others.filter_map(figure).min_by(f64::total_cmp);
        ratio(figure(row), best)
    }

    /// A front's pair against that of another, or of the direct call, in the worst cell.
    pub fn front(
        &self,
        number: u8,
        what: &'static str,
        bound: Bound,
        (front, other): (&str, Option<&str>),
        of: fn(Option<f64>, Option<f64>) -> Option<f64>,
    ) -> Target {
        let own = |row: &&Row| row.front.as_deref() == Some(front);
        let measured = self.worst(self.0.iter().filter(own), bound, |row| {
            let beside = self.like(row, |beside| {
                beside.front.as_deref() == other && beside.config.as_deref() == Some("full")
            });
            Some(of(PAIR(row), beside.and_then(PAIR)))
        });
        Target {
            number,
            what,
            bound,
            measured,
        }
    }

    /// The largest of what `of` says of Warena's rows; a row that it has no part in says nothing.
    pub fn most(
        &self,
        number: u8,
        what: &'static str,
        bound: f64,
        of: impl Fn(&Row) -> Option<Option<f64>>,
    ) -> Target {
        let bound = Bound::Most(bound);
        let measured = self.worst(self.full(), bound, of);
        Target {
            number,
            what,
            bound,
            measured,
        }
    }

    /// The same of the smallest.
    pub fn least(
        &self,
        number: u8,
        what: &'static str,
        bound: f64,
        of: impl Fn(&Row) -> Option<Option<f64>>,
    ) -> Target {
        let bound = Bound::Least(bound);
        let measured = self.worst(self.full(), bound, of);
        Target {
            number,
            what,
            bound,
            measured,
        }
    }

    /// The figure that is farthest off, with its row's cell. A row without the figure is passed over.
    pub fn worst<'a>(
        &self,
        rows: impl Iterator<Item = &'a Row>,
        bound: Bound,
        of: impl Fn(&Row) -> Option<Option<f64>>,
    ) -> Option<Measured> {
        let figures = rows.filter_map(|row| Some((of(row)??, row)));
        let worst = match bound {
            Bound::Most(_) => figures.max_by(|one, other| one.0.total_cmp(&other.0)),
            Bound::Least(_) => figures.min_by(|one, other| one.0.total_cmp(&other.0)),
        };
        worst.map(|(figure, row)| Measured {
            figure,
            cell: cell(row),
        })
    }
}

/// A row's cell, for people.
fn cell(row: &Row) -> String {
    if row.bench == SIZES {
        return row.config.clone().unwrap_or_default();
    }
    let of = match (&row.trace, row.chunks) {
        (Some(trace), _) => trace.clone(),
        (None, Some(chunks)) => format!("{chunks} chunks"),
        (None, None) => format!("{} allocs", row.allocs),
    };
    format!("{}, {} prod, {of}", row.bench, row.producers)
}
