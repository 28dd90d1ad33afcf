//! `cargo xtask test [suite …]`: runs suites of checks and sums them up.
//!
//! A suite is a list of checks, each one command with a name; a check that fails does not keep the
//! others from running. The last line is "N passed, N failed", for machines.

mod suites;

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::cargo_tool::CargoTool;
use crate::machine::Machine;
use crate::need::{self, Need, State};
use crate::process;
use crate::setup;
use crate::workspace::Pins;

/// What can be asked for by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// Formatting, clippy, TypeScript's types.
    Lint,
    /// The native tests, and loom's.
    Native,
    /// The bindings and the packed package in Node.
    Node,
    /// The bindings in Chromium.
    Chrome,
    /// The bindings in Firefox.
    Firefox,
    /// The page, as a user has it.
    E2e,
    /// Agents that are killed.
    Kill,
    /// The tests of several threads, under ThreadSanitizer.
    Tsan,
    /// The model's interpreter on a fuzzer's scripts.
    Fuzz,
}

impl Suite {
    /// Every suite, quick ones first.
    const ALL: [Self; 9] = [
        Self::Lint,
        Self::Native,
        Self::Node,
        Self::Chrome,
        Self::Firefox,
        Self::E2e,
        Self::Kill,
        Self::Tsan,
        Self::Fuzz,
    ];

    /// The suites that run when none is named: all but the slow one, and fuzzing where there is
    /// the toolchain for it, which nothing here installs.
    pub fn by_default() -> Result<Vec<Self>> {
        let fuzz = matches!(Need::Nightly.state(&Pins::read()?)?, State::Present(_));
        let chosen = |suite: &Self| match suite {
            Self::Tsan => false,
            Self::Fuzz => fuzz,
            _ => true,
        };
        Ok(Self::ALL.into_iter().filter(chosen).collect())
    }

    /// The suite's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lint => "lint",
            Self::Native => "native",
            Self::Node => "node",
            Self::Chrome => "chrome",
            Self::Firefox => "firefox",
            Self::E2e => "e2e",
            Self::Kill => "kill",
            Self::Tsan => "tsan",
            Self::Fuzz => "fuzz",
        }
    }

    /// The suite of this name.
    pub fn parse(name: &str) -> Result<Self> {
        let known = Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|suite| suite.name() == name)
            .with_context(|| format!("no test suite {name:?}; there are {known}"))
    }

    fn needs(self) -> Vec<Need> {
        match self {
            Self::Native => Vec::new(),
            Self::Lint => [need::PACK, &[Need::Clippy]].concat(),
            Self::Node => need::PACK.to_vec(),
            Self::Chrome => need::CHROME.to_vec(),
            Self::Firefox => need::FIREFOX.to_vec(),
            Self::E2e => [need::PACK, &[Need::Chrome]].concat(),
            Self::Kill => [need::PACK, &[Need::Chrome, Need::Firefox]].concat(),
            Self::Tsan => vec![Need::Toolchain, Need::Sanitizers],
            Self::Fuzz => vec![Need::Nightly, Need::Cargo(CargoTool::Fuzz)],
        }
    }
}

/// How one check went.
struct Outcome {
    suite: Suite,
    check: &'static str,
    passed: bool,
    time: Duration,
}

/// Runs the suites; whether everything passed.
pub fn test(suites: &[Suite]) -> Result<bool> {
    let needs: Vec<Need> = suites.iter().flat_map(|suite| suite.needs()).collect();
    let machine = setup::ensure(&needs)?;
    let mut outcomes = Vec::new();
    for suite in suites {
        run(*suite, &machine, &mut outcomes);
    }
    println!(
        "\n{:<9}{:<42}{:<8}{:>8}",
        "suite", "check", "result", "seconds"
    );
    for outcome in &outcomes {
        let result = if outcome.passed { "passed" } else { "FAILED" };
        println!(
            "{:<9}{:<42}{:<8}{:>8.1}",
            outcome.suite.name(),
            outcome.check,
            result,
            outcome.time.as_secs_f64()
        );
    }
    let failed = outcomes.iter().filter(|outcome| !outcome.passed).count();
    println!("{} passed, {failed} failed", outcomes.len() - failed);
    Ok(failed == 0)
}

/// Runs the checks of one suite.
fn run(suite: Suite, machine: &Machine, outcomes: &mut Vec<Outcome>) {
    for check in suites::checks(suite) {
        println!("\n== {}: {}", suite.name(), check.name);
        let start = Instant::now();
        let result = (check.commands)(machine).and_then(|commands| {
            commands
                .into_iter()
                .try_for_each(|mut c| process::run(&mut c))
        });
        if let Err(error) = &result {
            eprintln!("failed: {error:#}");
        }
        let (passed, time) = (result.is_ok(), start.elapsed());
        outcomes.push(Outcome {
            suite,
            check: check.name,
            passed,
            time,
        });
    }
}
