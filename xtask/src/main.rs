//! The command line of the project: `cargo xtask <command>`.
//!
//! One file per command (`setup`, `pack`, `web`, `test`, `kill`, `bench`) and one per thing that they use.
//! A newcomer compiles this first, so its dependencies are few and light.

mod apt;
mod bench;
mod browser;
mod cargo_tool;
mod kill;
mod lock;
mod machine;
mod need;
mod npm;
mod pack;
mod process;
mod sanitizer;
mod setup;
mod step;
mod test;
mod toolchain;
mod web;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};
use lexopt::prelude::*;

const HELP: &str = "\
cargo xtask web [--port N] [--no-open]
    builds the package and serves the visualiser on 127.0.0.1; prints its URL
    (port 5180 or the next free one)
cargo xtask test [lint|native|node|chrome|firefox|e2e|kill] ...
    runs these suites of tests; all of these when none is named
cargo xtask test tsan|fuzz
    the threads' tests under ThreadSanitizer; a minute of fuzzing, which also belongs to all where
    there is a nightly toolchain
cargo xtask kill random|chosen node|chrome|firefox [--kills N] [--seed N] [--only NAME]
    kills so many agents, at any moment, or so many in each of the chosen moments; `test kill` is a
    tenth of all that
cargo xtask bench native|node|chrome [--quick] [--json FILE] [--only NAME]
    the benchmarks, natively or as WebAssembly in Node or in headless Chromium; --help: more flags;
    --record also keeps the rows, with the machine's description, in benches/record/
cargo xtask bench size [--record]
    what the allocator adds to the least WebAssembly module, beside the standard library's
cargo xtask bench report RECORD...
    the README's tables and the charts, from these records
cargo xtask pack
    builds the npm package target/npm/warena-<version>.tgz
cargo xtask setup [--check]
    installs what any of these needs; --check only says what is missing (exit code 1 if anything)

Every command first installs what it needs and does not find: Rust with the standard library's
source, wasm-bindgen, wasm-pack, npm packages, browsers and their drivers.
";

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Does what the arguments say; `false` when that came out badly without being an error.
fn run() -> Result<bool> {
    let mut arguments = lexopt::Parser::from_env();
    let command = match arguments.next()? {
        Some(Value(name)) => name.string()?,
        Some(Long("help") | Short('h')) | None => return help(),
        Some(other) => return Err(other.unexpected().into()),
    };
    match command.as_str() {
        "setup" => {
            let mut check = false;
            while let Some(argument) = arguments.next()? {
                match argument {
                    Long("check") => check = true,
                    Long("help") | Short('h') => return help(),
                    other => return Err(other.unexpected().into()),
                }
            }
            if check {
                return setup::check(&setup::everything());
            }
            setup::ensure(&setup::everything())?;
            println!("ready");
        }
        "pack" => {
            match arguments.next()? {
                None => {}
                Some(Long("help") | Short('h')) => return help(),
                Some(other) => return Err(other.unexpected().into()),
            }
            let tarball = pack::pack(&setup::ensure(need::PACK)?)?;
            println!("{}", tarball.path.display());
        }
        "web" => {
            let mut options = web::Options::default();
            while let Some(argument) = arguments.next()? {
                match argument {
                    Long("port") => options.port = Some(arguments.value()?.parse()?),
                    Long("no-open") => options.no_open = true,
                    Long("help") | Short('h') => return help(),
                    other => return Err(other.unexpected().into()),
                }
            }
            web::web(&setup::ensure(need::PACK)?, &options)?;
        }
        "test" => {
            let mut suites = Vec::new();
            while let Some(argument) = arguments.next()? {
                match argument {
                    Value(name) => suites.push(test::Suite::parse(&name.string()?)?),
                    Long("help") | Short('h') => return help(),
                    other => return Err(other.unexpected().into()),
                }
            }
            if suites.is_empty() {
                suites = test::Suite::by_default()?;
            }
            return test::test(&suites);
        }
        "kill" => {
            let mut word = || -> Result<String> {
                match arguments.next()? {
                    Some(Value(word)) => Ok(word.string()?),
                    Some(other) => Err(other.unexpected().into()),
                    None => bail!("kill needs a kind, random or chosen, and a host"),
                }
            };
            let (kind, host) = (word()?, word()?);
            // Everything behind the host belongs to the killer.
            let flags: Vec<_> = arguments.raw_args()?.collect();
            kill::kill(kill::Kind::parse(&kind)?, kill::Host::parse(&host)?, &flags)?;
        }
        "bench" => {
            let host = match arguments.next()? {
                Some(Value(name)) if name == "report" => {
                    let records: Vec<_> = arguments.raw_args()?.collect();
                    bench::report(&records)?;
                    return Ok(true);
                }
                Some(Value(name)) if name == "size" => {
                    let mut keep = false;
                    while let Some(argument) = arguments.next()? {
                        match argument {
                            Long("record") => keep = true,
                            Long("help") | Short('h') => return help(),
                            other => return Err(other.unexpected().into()),
                        }
                    }
                    bench::size(keep)?;
                    return Ok(true);
                }
                Some(Value(name)) => bench::Host::parse(&name.string()?)?,
                Some(Long("help") | Short('h')) => return help(),
                Some(other) => return Err(other.unexpected().into()),
                None => bail!("bench needs a host (native, node or chrome), size or report"),
            };
            // Everything behind the host belongs to the benchmarks.
            let flags: Vec<_> = arguments.raw_args()?.collect();
            bench::bench(host, &flags)?;
        }
        other => bail!("no command {other:?}; see cargo xtask --help"),
    }
    Ok(true)
}

fn help() -> Result<bool> {
    print!("{HELP}");
    Ok(true)
}
