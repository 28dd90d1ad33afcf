//! `cargo xtask setup`: makes the machine ready, and what every other command calls first.
//!
//! Looks what is missing of what was asked, and installs that: system packages and then npm's on
//! one thread, cargo's tools on another, since one mostly waits for the network and the other for
//! the compiler. Afterwards everything is looked at again, so a set-up that ends well is complete.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::cargo_tool::CargoTool;
use crate::lock::Lock;
use crate::need::{self, Need, Remedy, State};
use crate::process::command;
use crate::step::{self, Step};
use crate::toolchain::Toolchain;
use crate::workspace::{self, Pins};
use crate::{apt, npm};

/// Everything that any command needs.
pub fn everything() -> Vec<Need> {
    [need::PACK, &[Need::Clippy], need::CHROME, need::FIREFOX].concat()
}

/// Prints what is there and what is missing; whether all is there.
pub fn check(needs: &[Need]) -> Result<bool> {
    let pins = Pins::read()?;
    let mut missing = 0;
    for need in distinct(needs) {
        match need.state(&pins)? {
            State::Present(what) => println!("present  {what}"),
            State::Missing(what, remedy) => {
                missing += 1;
                println!("missing  {what} ({})", source(&remedy));
            }
        }
    }
    match missing {
        0 => println!("nothing is missing"),
        _ => println!("{missing} missing: `cargo xtask setup` installs them"),
    }
    Ok(missing == 0)
}

/// Installs what is missing of the needs, and returns the machine, ready.
pub fn ensure(needs: &[Need]) -> Result<Machine> {
    let pins = Pins::read()?;
    let needs = distinct(needs);
    if missing(&needs, &pins)?.is_empty() {
        return Machine::look(pins);
    }
    // Two set-ups in one tree would remove each other's files.
    let _lock = Lock::take("set-up")?;
    let start = Instant::now();
    let (system, tools) = plan(&missing(&needs, &pins)?, &pins)?;
    let seconds = |steps: &[Step]| steps.iter().map(|step| step.seconds).sum::<u64>();
    println!(
        "set-up: {} to install, about {} (what the tools say goes to {})",
        system.len() + tools.len(),
        step::duration(seconds(&system).max(seconds(&tools))),
        workspace::target().join("setup").display()
    );
    std::thread::scope(|scope| {
        let tools = scope.spawn(|| tools.into_iter().try_for_each(Step::run));
        let system = system.into_iter().try_for_each(Step::run);
        // Both are waited for before either's error: what a lane finishes stays finished.
        let tools = tools
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        system.and(tools)
    })?;
    if needs.contains(&Need::Packages) {
        npm::keep_lock()?;
    }
    let left = missing(&needs, &pins)?;
    if let Some((what, remedy)) = left.first() {
        bail!("still missing after set-up: {what} ({})", source(remedy));
    }
    println!("set-up: done in {}", step::elapsed(start));
    Machine::look(pins)
}

/// The machine as the commands use it: the environment for cargo, Node and the tools.
pub struct Machine {
    pins: Pins,
    toolchain: Option<Toolchain>,
}

impl Machine {
    fn look(pins: Pins) -> Result<Self> {
        Ok(Self {
            pins,
            toolchain: Toolchain::find(),
        })
    }

    /// The versions that the project pins.
    pub fn pins(&self) -> &Pins {
        &self.pins
    }

    /// A command that builds or runs WebAssembly: toolchain, tools and npm programs in place.
    pub fn wasm(&self, program: &str, arguments: &[&str]) -> Result<Command> {
        let mut command = command(program, arguments);
        self.dress(&mut command)?;
        command.current_dir(workspace::root());
        Ok(command)
    }

    /// Clippy on WebAssembly, with the toolchain that builds it.
    pub fn clippy(&self, arguments: &[&str]) -> Result<Command> {
        let mut command = self.wasm("cargo", &["clippy"])?;
        let folder = self.toolchain.as_ref().and_then(Toolchain::clippy);
        let folder = folder.context("no clippy for WebAssembly: cargo xtask setup")?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
        command
            .env("PATH", std::env::join_paths(folders)?)
            .args(arguments);
        Ok(command)
    }

    /// Gives a command the environment in which WebAssembly is built.
    pub fn dress(&self, command: &mut Command) -> Result<()> {
        for (name, value) in self.environment()? {
            command.env(name, value);
        }
        Ok(())
    }

    /// The environment's variables, `PATH` included.
    pub fn environment(&self) -> Result<Vec<(String, String)>> {
        let toolchain = self
            .toolchain
            .as_ref()
            .context("no toolchain for WebAssembly: cargo xtask setup")?;
        let mut folders = Vec::from_iter(toolchain.programs());
        for tool in [
            CargoTool::WasmBindgen,
            CargoTool::WasmPack,
            CargoTool::Geckodriver,
        ] {
            folders.extend(tool.folder(&self.pins)?);
        }
        folders.push(npm::programs());
        let path = std::env::var_os("PATH").unwrap_or_default();
        folders.extend(std::env::split_paths(&path));
        let joined = std::env::join_paths(folders).context("a folder on the PATH has a colon")?;
        let mut variables = toolchain.environment();
        variables.push(("PATH".to_owned(), joined.to_string_lossy().into_owned()));
        Ok(variables)
    }
}

/// The needs without repetition, in their order.
fn distinct(needs: &[Need]) -> Vec<Need> {
    let mut seen = Vec::new();
    for need in needs {
        if !seen.contains(need) {
            seen.push(*need);
        }
    }
    seen
}

fn missing(needs: &[Need], pins: &Pins) -> Result<Vec<(String, Remedy)>> {
    let mut found = Vec::new();
    for need in needs {
        if let State::Missing(what, remedy) = need.state(pins)? {
            found.push((what, remedy));
        }
    }
    Ok(found)
}

/// The steps that install what is missing: those of the system and npm, and those of cargo.
fn plan(missing: &[(String, Remedy)], pins: &Pins) -> Result<(Vec<Step>, Vec<Step>)> {
    let (mut packages, mut system, mut tools) = (Vec::new(), Vec::new(), Vec::new());
    for (what, remedy) in missing {
        match remedy {
            Remedy::Apt(names) => packages.extend(names.iter().copied()),
            Remedy::Rustup { toolchain } => system.push(rustup(toolchain)),
            Remedy::Cargo(tool) => tools.push(tool.install(pins)?),
            Remedy::Npm => system.push(npm::install()),
            Remedy::Manual(advice) => bail!("missing: {what}. To go on, {advice}"),
        }
    }
    packages.sort_unstable();
    packages.dedup();
    if !packages.is_empty() {
        system.insert(0, apt::install(&packages)?);
    }
    Ok((system, tools))
}

fn rustup(toolchain: &str) -> Step {
    let arguments = [
        "toolchain",
        "install",
        toolchain,
        "--profile",
        "minimal",
        "--component",
        "rust-src",
    ];
    Step {
        title: format!("Rust {toolchain} with the standard library's source, by rustup"),
        seconds: 60,
        log: "rustup".to_owned(),
        commands: vec![command("rustup", &arguments)],
        otherwise: None,
    }
}

/// Where a remedy takes a thing from, in a few words.
fn source(remedy: &Remedy) -> String {
    match remedy {
        Remedy::Apt(names) => format!("Debian: {}", names.join(" ")),
        Remedy::Rustup { toolchain } => format!("rustup: {toolchain} with rust-src"),
        Remedy::Cargo(_) => "built by cargo".to_owned(),
        Remedy::Npm => "npm ci".to_owned(),
        Remedy::Manual(advice) => format!("by hand: {advice}"),
    }
}
