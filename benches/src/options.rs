//! The command line of the benchmarks, the same on every host.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use lexopt::prelude::*;

use crate::cell::Bench;
use crate::sizes::Sizes;
use crate::trace::TRACES;

/// What the flags mean.
pub const HELP: &str = "flags:
  --quick           3 short rounds a cell instead of 7 long ones
  --moment          a round or two of a few cells, to see that all works: figures say nothing
  --only NAME       only this benchmark; may be given several times: malloc, calloc, malloc-free,
                    malloc-xfree, prodcon, larson, realloc-grow, large, chunks, trace, fronts,
                    fronts-grow, watched (on a page only)
  --size N|mixed    bytes of an object, 16 to 2048, or sizes from 16 B to 2 KiB; 64 by default
  --producers N,..  only these numbers of producers; 1,2,4,8 by default
  --allocs N,..     only these numbers of objects a cycle; 1,4,16,64,256,1000 by default
  --rounds N        rounds of each heap in each cell; a peer whose rounds take long has fewer
  --json FILE       also write the rows as JSON
";

/// What is to be measured, and how long.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The benchmarks.
    pub benches: Vec<Bench>,
    /// Numbers of producers.
    pub producers: Vec<usize>,
    /// Objects a cycle.
    pub allocs: Vec<usize>,
    /// Bytes of an object.
    pub sizes: Sizes,
    /// Numbers of full chunks.
    pub chunks: Vec<usize>,
    /// Traces to replay, by their position.
    pub traces: Vec<usize>,
    /// Rounds of each heap in each cell.
    pub rounds: usize,
    /// How long a round times pairs.
    pub length: Duration,
    /// What the rounds of a peer in a cell may take: one that is slower has fewer of them.
    pub budget: Duration,
    /// Rounds that each heap has however slow it is.
    pub least_rounds: usize,
    /// Where the rows go as JSON.
    pub json: Option<PathBuf>,
    /// Only say what the flags are.
    pub help: bool,
}

impl Options {
    /// All cells, measured at length.
    pub fn full() -> Self {
        Self {
            benches: Bench::ALL.to_vec(),
            producers: vec![1, 2, 4, 8],
            allocs: vec![1, 4, 16, 64, 256, 1000],
            sizes: Sizes::Fixed(64),
            chunks: vec![1, 16, 64, 256, 1024],
            traces: (0..TRACES.len()).collect(),
            rounds: 7,
            length: Duration::from_millis(15),
            budget: Duration::from_secs(1),
            least_rounds: 3,
            json: None,
            help: false,
        }
    }

    /// A few cells of every benchmark, each for a moment.
    pub fn moment() -> Self {
        Self {
            producers: vec![1, 3],
            allocs: vec![1, 16, 256],
            chunks: vec![1, 3],
            // The shortest.
            traces: vec![1],
            rounds: 2,
            length: Duration::from_millis(2),
            budget: Duration::from_millis(200),
            least_rounds: 1,
            ..Self::full()
        }
    }

    /// What these arguments, without the program's name, ask for.
    pub fn parse(arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Self> {
        let mut options = Self::full();
        let mut only = Vec::new();
        let mut parser = lexopt::Parser::from_args(arguments);
        while let Some(argument) = parser.next()? {
            match argument {
                Long("quick") => {
                    options.rounds = 3;
                    options.length = Duration::from_millis(10);
                    options.least_rounds = 1;
                }
                Long("moment") => {
                    options = Self {
                        json: options.json,
                        ..Self::moment()
                    }
                }
                Long("json") => options.json = Some(parser.value()?.into()),
                Long("only") => only.push(Bench::parse(&parser.value()?.string()?)?),
                Long("size") => options.sizes = Sizes::parse(&parser.value()?.string()?)?,
                Long("producers") => options.producers = numbers(&parser.value()?.string()?, 64)?,
                Long("allocs") => options.allocs = numbers(&parser.value()?.string()?, 1000)?,
                Long("rounds") => {
                    let rounds = numbers(&parser.value()?.string()?, 1000)?;
                    options.rounds = *rounds.first().context("--rounds needs a number")?;
                }
                Long("help") | Short('h') => options.help = true,
                other => return Err(other.unexpected().into()),
            }
        }
        if !only.is_empty() {
            options.benches = only;
        }
        Ok(options)
    }

    /// The most producers of any cell: so many threads are needed.
    pub fn crew(&self) -> usize {
        let cells = self.benches.iter().flat_map(|bench| bench.groups(self));
        let producers = cells.flatten().map(|cell| cell.producers);
        producers.max().unwrap_or(0)
    }
}

/// Numbers from 1 to `most`, separated by commas.
fn numbers(list: &str, most: usize) -> Result<Vec<usize>> {
    let numbers = list.split(',').map(|text| {
        let number = text.parse().unwrap_or(0);
        ensure!(
            (1..=most).contains(&number),
            "{text:?} is no number from 1 to {most}"
        );
        Ok(number)
    });
    numbers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_understood() {
        let options = Options::parse([
            "--quick",
            "--json",
            "a.json",
            "--only",
            "malloc-xfree",
            "--only",
            "trace",
            "--size",
            "mixed",
            "--producers",
            "1,2",
        ]);
        let options = options.unwrap();
        assert_eq!(options.rounds, 3);
        assert_eq!(options.json, Some(PathBuf::from("a.json")));
        assert_eq!(options.benches, [Bench::MallocXfree, Bench::Trace]);
        assert_eq!(options.sizes, Sizes::Mixed);
        assert_eq!(options.producers, [1, 2]);
        // Four replay the copies of a trace.
        assert_eq!(options.crew(), 4);
        assert_eq!(Options::parse([""; 0]).unwrap(), Options::full());
        assert_eq!(Options::full().crew(), 8);
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (arguments, named) in [
            (
                &["--only", "mallok"][..],
                "\"mallok\"; there are malloc, calloc",
            ),
            (&["--fast"], "--fast"),
            (&["--json"], "--json"),
            (&["--allocs", "1,x"], "\"x\" is no number"),
            (&["--rounds", "0"], "\"0\" is no number"),
        ] {
            let error = Options::parse(arguments).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
