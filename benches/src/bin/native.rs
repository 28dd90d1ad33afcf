//! The benchmarks as a native program: producers are threads.

use std::process::ExitCode;

use anyhow::{Context, Result};
use warena_benches::options::{HELP, Options};
use warena_benches::suite::Host;
use warena_benches::{crew, row, suite};

/// For the front that is about it: see `front.rs`.
#[global_allocator]
static HEAP: warena::Global = warena::Global::new();

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let options = Options::parse(std::env::args_os().skip(1))?;
    if options.help {
        print!("{HELP}");
        return Ok(());
    }
    let host = Host {
        name: "native",
        cores: std::thread::available_parallelism()?.get(),
        print: &|text| println!("{text}"),
    };
    let rows = crew::with_threads(options.crew(), |crew| {
        suite::run(&options, &host, crew, Vec::new())
    })?;
    if let Some(path) = options.json {
        std::fs::write(&path, row::json(&rows)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
