//! The benchmarks as a native program: producers are threads.

use std::io::Write;

use anyhow::{Context, Result};
use warena_benches::options::{HELP, Options};
use warena_benches::suite::Host;
use warena_benches::{crew, row, suite};

/// For the front that is about it: see `front.rs`.
#[global_allocator]
static HEAP: warena::Global = warena::Global::new();

fn main() {
    let status = match run() {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("error: {error:#}");
            1
        }
    };
    if let Err(error) = std::io::stdout().flush() {
        eprintln!("error: {error}");
    }
    // SAFETY: ends the process, with all that it has written by now. No exit handler is to run: rpmalloc's
    // goes through what threads that have ended left behind, and crashed there in a third of the runs.
    unsafe { libc::_exit(status) }
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
