//! What a number of rounds comes to: the middle, and how far they were apart.

use serde::{Deserialize, Serialize};

/// A figure of several rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The median.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
}

impl Figure {
    /// The figure of these rounds; none when a round could not measure it, or when there were none.
    pub fn of(rounds: impl Iterator<Item = Option<f64>>) -> Option<Self> {
        let mut all = rounds.collect::<Option<Vec<f64>>>()?;
        all.sort_by(f64::total_cmp);
        let (min, max) = (*all.first()?, *all.last()?);
        let middle = all.len() / 2;
        let median = if all.len() % 2 == 1 {
            all[middle]
        } else {
            (all[middle - 1] + all[middle]) / 2.0
        };
        Some(Self { median, min, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_rounds() {
        let of = |rounds: &[f64]| Figure::of(rounds.iter().map(|&ns| Some(ns)));
        let odd = of(&[3.0, 1.0, 9.0]).unwrap();
        assert_eq!((odd.median, odd.min, odd.max), (3.0, 1.0, 9.0));
        assert_eq!(of(&[4.0, 2.0]).unwrap().median, 3.0);
        assert_eq!(of(&[]), None);
        assert_eq!(Figure::of([Some(1.0), None].into_iter()), None);
    }
}
