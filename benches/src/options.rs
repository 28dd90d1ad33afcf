//! The command line of the benchmarks, the same on every host.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use lexopt::prelude::*;

use crate::chunks;
use crate::workload::Workload;

/// What the flags mean.
pub const HELP: &str = "flags:
  --quick        3 short rounds a cell, under a minute in all, instead of 7 long ones
  --json FILE    also write the rows as JSON
  --only NAME    only this benchmark: malloc-free, malloc-xfree or chunks
";

/// What is to be measured, and how long.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The benchmarks.
    pub workloads: Vec<Workload>,
    /// Numbers of producers.
    pub producers: Vec<usize>,
    /// Objects a cycle.
    pub allocs: Vec<usize>,
    /// Bytes of an object.
    pub size: usize,
    /// Numbers of full chunks; none: not that benchmark.
    pub chunks: Vec<usize>,
    /// Rounds of each heap in each cell.
    pub rounds: usize,
    /// How long a round times pairs.
    pub length: Duration,
    /// Where the rows go as JSON.
    pub json: Option<PathBuf>,
    /// Only say what the flags are.
    pub help: bool,
}

impl Options {
    /// The seeds' cells, measured at length.
    pub fn full() -> Self {
        Self {
            workloads: Workload::ALL.to_vec(),
            producers: vec![1, 2, 4, 8],
            allocs: vec![1, 4, 16, 64, 256],
            size: 64,
            chunks: chunks::COUNTS.to_vec(),
            rounds: 7,
            length: Duration::from_millis(150),
            json: None,
            help: false,
        }
    }

    /// What these arguments, without the program's name, ask for.
    pub fn parse(arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Self> {
        let mut options = Self::full();
        let mut parser = lexopt::Parser::from_args(arguments);
        while let Some(argument) = parser.next()? {
            match argument {
                Long("quick") => {
                    options.rounds = 3;
                    options.length = Duration::from_millis(24);
                }
                Long("json") => options.json = Some(parser.value()?.into()),
                Long("only") => {
                    let name = parser.value()?.string()?;
                    if name == chunks::NAME {
                        options.workloads = Vec::new();
                    } else {
                        options.workloads = vec![Workload::parse(&name)?];
                        options.chunks = Vec::new();
                    }
                }
                Long("help") | Short('h') => options.help = true,
                other => return Err(other.unexpected().into()),
            }
        }
        Ok(options)
    }

    /// The most producers of any cell: so many threads are needed.
    pub fn crew(&self) -> usize {
        self.producers.iter().copied().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_understood() {
        let options = Options::parse(["--quick", "--json", "a.json", "--only", "malloc-xfree"]);
        let options = options.unwrap();
        assert_eq!(options.rounds, 3);
        assert_eq!(options.json, Some(PathBuf::from("a.json")));
        assert_eq!(options.workloads, [Workload::MallocXfree]);
        assert!(options.chunks.is_empty());
        let only = Options::parse(["--only", "chunks"]).unwrap();
        assert_eq!(only.workloads, []);
        assert_eq!(only.chunks, chunks::COUNTS);
        assert_eq!(options.crew(), 8);
        assert_eq!(Options::parse([""; 0]).unwrap(), Options::full());
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (arguments, named) in [
            (
                &["--only", "malloc"][..],
                "\"malloc\"; there are malloc-free",
            ),
            (&["--fast"], "--fast"),
            (&["--json"], "--json"),
        ] {
            let error = Options::parse(arguments).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
