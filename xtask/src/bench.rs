//! `cargo xtask bench native|node|chrome [flags]`: the benchmarks on one host; the flags go through.
//!
//! Natively the heaps of others are crates of one program. For WebAssembly there are three modules:
//! one with Warena and the peers that are Rust code, and one for each version of mimalloc's C code.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::machine::Machine;
use crate::need::Need;
use crate::process::{self, command};
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
    let mut run = match host {
        Host::Native => {
            let mut cargo = command("cargo", &["run", "--release", "-p", "warena-benches"]);
            cargo.args(["--features", "peers", "--bin", "native", "--"]);
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
    process::run(run.args(flags))
}

/// Node with a script of the benchmarks, the modules and the package built.
fn script(machine: &Machine, name: &str) -> Result<std::process::Command> {
    pack::pack(machine)?.install_in_web()?;
    let folder = workspace::target().join("bench");
    for (name, features) in MODULES {
        module(machine, features, &folder.join(name))?;
    }
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
