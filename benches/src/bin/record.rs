//! Makes a record of a run: `record HOST ROWS FOLDER ENGINE COMPILER FLAGS` puts the rows of a JSON
//! file, with the day and a description of this machine, into a file of that folder.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use warena_benches::record::{Origin, Record};
use warena_benches::row::Row;

fn main() -> ExitCode {
    match run() {
        Ok(path) => {
            println!("recorded in {}", path.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<PathBuf> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |what: &str| {
        arguments
            .next()
            .with_context(|| format!("{what} is missing"))
    };
    let (host, rows, folder) = (next("the host")?, next("the rows")?, next("the folder")?);
    let (engine, compiler) = (next("the engine")?, next("the compiler")?);
    let flags = next("the flags")?;
    let text = std::fs::read_to_string(&rows).with_context(|| format!("cannot read {rows}"))?;
    let rows: Vec<Row> = serde_json::from_str(&text)?;
    let origin = Origin {
        date: ask("date", &["-u", "+%Y-%m-%d"])?,
        host,
        processor: line("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned()),
        cores: std::thread::available_parallelism()?.get(),
        memory: line("/proc/meminfo", "MemTotal").map_or(0, |text| {
            let kib: u64 = text.trim_end_matches(" kB").parse().unwrap_or(0);
            kib << 10
        }),
        system: ask("uname", &["-srm"])?,
        engine,
        compiler,
        commit: ask("git", &["describe", "--always", "--dirty"])?,
        flags,
    };
    let folder = PathBuf::from(folder);
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let path = folder.join(format!("{}-{}.json", origin.date, origin.host));
    let record = Record { origin, rows };
    std::fs::write(&path, record.text()?)
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// What a program answers.
fn ask(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.with_context(|| format!("cannot start {program}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The value behind the first `name : value` of a file that Linux has.
fn line(path: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim() == name).then(|| value.trim().to_owned())
    })
}
