//! `cargo xtask bench native|node [flags]`: the benchmarks on one host; the flags go through.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::machine::Machine;
use crate::process::{self, command};
use crate::setup;
use crate::step::Step;
use crate::{need, npm, pack, workspace};

/// Where benchmarks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// A native program.
    Native,
    /// WebAssembly in Node's `worker_threads`.
    Node,
}

impl Host {
    /// The host of this name.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "native" => Ok(Self::Native),
            "node" => Ok(Self::Node),
            _ => bail!("no benchmark host {name:?}; there are native and node"),
        }
    }
}

/// Runs the benchmarks with the flags that were given.
pub fn bench(host: Host, flags: &[OsString]) -> Result<()> {
    let mut run = match host {
        Host::Native => {
            let mut cargo = command("cargo", &["run", "--release", "-p", "warena-benches"]);
            cargo.args(["--bin", "native", "--"]);
            cargo
        }
        Host::Node => {
            let machine = setup::ensure(need::PACK)?;
            let mut node = npm::node(workspace::root().join("benches/node/main.mjs"));
            node.arg(glue(&machine)?);
            machine.dress(&mut node)?;
            node
        }
    };
    process::run(run.args(flags))
}

/// Builds the workloads as WebAssembly, optimised as the package is; the folder of the result.
fn glue(machine: &Machine) -> Result<PathBuf> {
    let wasm = pack::compile(machine, "warena-benches")?;
    let folder = workspace::target().join("bench-node");
    pack::remove(&folder)?;
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let mut bindgen = machine.wasm("wasm-bindgen", &["--target", "web", "--out-dir"])?;
    bindgen.arg(&folder).arg(&wasm);
    let bound = folder.join("warena_benches_bg.wasm");
    let mut optimise = machine.wasm("wasm-opt", &["-O3"])?;
    optimise.arg(&bound).arg("-o").arg(&bound);
    Step {
        title: "benchmarks: glue and wasm-opt".to_owned(),
        seconds: 5,
        log: "bench-node".to_owned(),
        commands: vec![bindgen, optimise],
        otherwise: None,
    }
    .run()?;
    Ok(folder)
}
