//! The command line of the project: `cargo xtask <command>`.
//!
//! One file per command (`setup.rs`, …) and one per thing they use. A newcomer compiles this
//! first, so it has few dependencies.

mod apt;
mod browser;
mod cargo_tool;
mod need;
mod npm;
mod process;
mod setup;
mod step;
mod toolchain;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};
use lexopt::prelude::*;

const HELP: &str = "\
cargo xtask setup [--check]
    installs what is missing; --check only says what that is (exit code 1 if anything)
";

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode> {
    let mut arguments = lexopt::Parser::from_env();
    match arguments.next()? {
        Some(Value(name)) if name == "setup" => {
            let mut check = false;
            while let Some(argument) = arguments.next()? {
                match argument {
                    Long("check") => check = true,
                    other => return Err(other.unexpected().into()),
                }
            }
            if check {
                let complete = setup::check(&setup::everything())?;
                return Ok(if complete { ExitCode::SUCCESS } else { ExitCode::FAILURE });
            }
            setup::ensure(&setup::everything())?;
            println!("ready");
            Ok(ExitCode::SUCCESS)
        }
        Some(Long("help") | Short('h')) | None => {
            print!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        Some(Value(name)) => bail!("no command {name:?}; see cargo xtask --help"),
        Some(other) => Err(other.unexpected().into()),
    }
}
