//! `cargo xtask setup`: makes the machine ready, and what every other command calls first.
//!
//! Looks what is missing of what was asked, and installs that: system packages and then npm's on
//! one thread, cargo's tools on another, since one mostly waits for the network and the other for
//! the compiler. Afterwards everything is looked at again, so a set-up that ends well is complete.

use std::time::Instant;

use anyhow::{Result, bail};

use crate::lock::Lock;
use crate::machine::Machine;
use crate::need::{self, Need, Remedy, State};
use crate::process::command;
use crate::step::{self, Step};
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
        return Ok(Machine::look(pins));
    }
    // Two set-ups in one tree would remove each other's files.
    let _lock = Lock::take("set-up")?;
    let absent = missing(&needs, &pins)?;
    if absent.is_empty() {
        return Ok(Machine::look(pins));
    }
    let start = Instant::now();
    let (system, tools) = plan(&absent, &pins)?;
    println!("set-up: to be installed are");
    for (what, remedy) in &absent {
        println!("    {what} ({})", source(remedy));
    }
    let seconds = |steps: &[Step]| steps.iter().map(|step| step.seconds).sum::<u64>();
    println!(
        "  in about {} on two idle cores; what the tools say goes to {}",
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
    Ok(Machine::look(pins))
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
