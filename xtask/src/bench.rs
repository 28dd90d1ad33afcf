//! `cargo xtask bench native|node|chrome [flags]`: the benchmarks on one host; the flags go through.
//!
//! Natively the heaps of others are crates of one program. For WebAssembly there are three modules:
//! one with Warena and the peers that are Rust code, and one for each version of mimalloc's C code.
//!
//! `--record` also puts the rows into a file of `benches/record/`, with the day and the machine's
//! description. `cargo xtask bench size` measures modules instead. `cargo xtask bench report RECORD…` makes the README's tables and charts from such.

mod size;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::machine::Machine;
use crate::need::Need;
use crate::process::{self, ask, command};
use crate::setup;
use crate::step::Step;
use crate::{browser, need, npm, pack, workspace};

/// Where benchmarks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// A native program.
    Native,
    /// WebAssembly in Node's `worker_threads`.
    Node,
    /// WebAssembly in the Web Workers of a page in headless Chromium.
    Chrome,
}

/// The modules by the names of their folders, and the features that they are built with.
const MODULES: [(&str, &str); 3] = [
    ("mimalloc-v2", "mimalloc-v2"),
    ("mimalloc-v3", "mimalloc-v3"),
    // Last, so that it is the one that cargo leaves in its folder.
    ("main", "peers"),
];

impl Host {
    /// The host of this name.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "native" => Ok(Self::Native),
            "node" => Ok(Self::Node),
            "chrome" => Ok(Self::Chrome),
            _ => bail!("no benchmark host {name:?}; there are native, node and chrome"),
        }
    }

    /// The name on the command line and in rows.
    fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Node => "node",
            Self::Chrome => "chrome",
        }
    }

    /// The version of what runs the code.
    fn engine(self) -> String {
        let asked = match self {
            Self::Native => None,
            Self::Node => ask(&mut command("node", &["--version"])).map(|it| format!("Node {it}")),
            Self::Chrome => browser::chrome().and_then(|it| ask(&mut command(it, &["--version"]))),
        };
        asked.unwrap_or_default()
    }

    /// What its benchmarks need.
    fn needs(self) -> Vec<Need> {
        match self {
            Self::Native => vec![Need::CompilerOfCpp],
            Self::Node => [need::PACK, &[Need::CompilerOfWasm]].concat(),
            Self::Chrome => [need::PACK, &[Need::CompilerOfWasm, Need::Chrome]].concat(),
        }
    }
}

/// Runs the benchmarks with the flags that were given.
pub fn bench(host: Host, flags: &[OsString]) -> Result<()> {
    let machine = setup::ensure(&host.needs())?;
    let (own, flags): (Vec<_>, Vec<_>) = flags.iter().partition(|&flag| flag == "--record");
    let mut run = match host {
        Host::Native => {
            let mut cargo = benches("native", "peers");
            cargo.arg("--");
            cargo
        }
        Host::Node => script(&machine, "node.mjs")?,
        Host::Chrome => {
            let chromium = browser::chrome().context("no Chromium: cargo xtask setup")?;
            let mut node = script(&machine, "chrome.mjs")?;
            node.env("WARENA_CHROMIUM", chromium);
            node
        }
    };
    run.args(&flags);
    if own.is_empty() {
        return process::run(&mut run);
    }
    if flags.iter().any(|&flag| flag == "--json") {
        bail!("--record and --json: a record has the rows already");
    }
    let rows = workspace::target().join(format!("bench-{}.json", host.name()));
    process::run(run.arg("--json").arg(&rows))?;
    let mut compiler = command("rustc", &["--version"]);
    if host != Host::Native {
        machine.dress(&mut compiler)?;
    }
    let flags: Vec<_> = flags.iter().map(|flag| flag.to_string_lossy()).collect();
    record(
        host.name(),
        &rows,
        &host.engine(),
        compiler,
        &flags.join(" "),
    )
}

/// Measures the size of modules.
pub fn size(keep: bool) -> Result<()> {
    let machine = setup::ensure(need::PACK)?;
    let rows = size::measure(&machine)?;
    if !keep {
        return Ok(());
    }
    let file = workspace::target().join("bench-size.json");
    std::fs::write(&file, rows).with_context(|| format!("cannot write {}", file.display()))?;
    let mut compiler = command("rustc", &["--version"]);
    machine.dress(&mut compiler)?;
    record("size", &file, "", compiler, "")
}

/// Keeps rows as a record.
fn record(host: &str, rows: &Path, engine: &str, mut compiler: Command, flags: &str) -> Result<()> {
    // Without the peers where they are not built anyway.
    let features = if host == "size" { "" } else { "peers" };
    let mut record = benches("record", features);
    record.args(["--", host]).arg(rows);
    record.arg(workspace::root().join("benches/record"));
    record.args([engine, &ask(&mut compiler).unwrap_or_default(), flags]);
    process::run(&mut record)
}

/// Every workload in Node for a moment, with all heaps but those that are C code: a test that they
/// work, not a measure.
pub fn moment(machine: &Machine) -> Result<Command> {
    pack::pack(machine)?.install_in_web()?;
    let folder = workspace::target().join("bench-moment");
    module(machine, "peers", &folder.join("main"))?;
    let mut node = started(machine, "node.mjs", &folder)?;
    node.arg("--moment");
    Ok(node)
}

/// Makes the tables and charts that are published from these records.
pub fn report(records: &[OsString]) -> Result<()> {
    process::run(benches("report", "report").arg("--").args(records))
}

/// Cargo, running one of the benchmarks' native programs.
fn benches(program: &str, features: &str) -> Command {
    let mut cargo = command("cargo", &["run", "--release", "-p", "warena-benches"]);
    cargo.args(["--features", features, "--bin", program]);
    cargo
}

/// Node with a script of the benchmarks, the modules and the package built.
fn script(machine: &Machine, name: &str) -> Result<Command> {
    pack::pack(machine)?.install_in_web()?;
    let folder = workspace::target().join("bench");
    for (name, features) in MODULES {
        module(machine, features, &folder.join(name))?;
    }
    started(machine, name, &folder)
}

/// Node with a script of the benchmarks, on the modules of a folder.
fn started(machine: &Machine, name: &str, folder: &Path) -> Result<Command> {
    let mut node = npm::node(workspace::root().join("benches/host").join(name));
    node.arg(folder)
        .arg(workspace::web().join("node_modules/warena/dist/index.js"));
    machine.dress(&mut node)?;
    Ok(node)
}

/// Builds one module, optimised as the package is, into its folder.
fn module(machine: &Machine, features: &str, folder: &Path) -> Result<PathBuf> {
    let wasm = pack::compile(machine, "warena-benches", &["--features", features])?;
    pack::remove(folder)?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut bindgen = machine.wasm("wasm-bindgen", &["--target", "web", "--out-dir"])?;
    bindgen.arg(folder).arg(&wasm);
    let bound = folder.join("warena_benches_bg.wasm");
    let mut optimise = machine.wasm("wasm-opt", &["-O3"])?;
    optimise.arg(&bound).arg("-o").arg(&bound);
    Step {
        title: format!("benchmarks, {features}: glue and wasm-opt"),
        seconds: 10,
        log: format!("bench-{features}"),
        commands: vec![bindgen, optimise],
        otherwise: None,
    }
    .run()?;
    Ok(bound)
}
