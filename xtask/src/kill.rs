//! `cargo xtask kill random|chosen node|chrome|firefox [flags]`: agents are killed, and what they left
//! is looked at; the flags go through to `tests/kill/main.mjs`.
//!
//! The harness runs beside the package as its users get it, below `target/kill`. Kills at chosen
//! writes need the test build, which can stand still there.

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::machine::Machine;
use crate::need::{self, Need};
use crate::{browser, npm, pack, process, setup, workspace};

/// When agents are killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// At any moment, while they work.
    Random,
    /// Before a write that was chosen.
    Chosen,
}

/// Where agents are killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// Node's `worker_threads`.
    Node,
    /// Chromium's Web Workers.
    Chrome,
    /// Firefox's Web Workers.
    Firefox,
}

impl Kind {
    /// The kind of this name.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "random" => Ok(Self::Random),
            "chosen" => Ok(Self::Chosen),
            _ => bail!("no kills {name:?}; there are random and chosen ones"),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Chosen => "chosen",
        }
    }
}

impl Host {
    /// The host of this name.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "node" => Ok(Self::Node),
            "chrome" => Ok(Self::Chrome),
            "firefox" => Ok(Self::Firefox),
            _ => bail!("no host {name:?} to kill in; there are node, chrome and firefox"),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Chrome => "chrome",
            Self::Firefox => "firefox",
        }
    }

    /// What running there takes.
    pub fn needs(self) -> Vec<Need> {
        let host = match self {
            Self::Node => None,
            Self::Chrome => Some(Need::Chrome),
            Self::Firefox => Some(Need::Firefox),
        };
        need::PACK.iter().copied().chain(host).collect()
    }
}

/// Kills with the flags that were given.
pub fn kill(kind: Kind, host: Host, flags: &[OsString]) -> Result<()> {
    let machine = setup::ensure(&host.needs())?;
    process::run(killer(&machine, kind, host)?.args(flags))
}

/// The command that does it, with everything that it needs in place.
pub fn killer(machine: &Machine, kind: Kind, host: Host) -> Result<Command> {
    // One for each, so that a long run of one goes on while another is made.
    let name = format!("{}-{}", kind.name(), host.name());
    let folder = workspace::target().join("kill").join(name);
    let tarball = match kind {
        Kind::Random => pack::pack(machine)?,
        Kind::Chosen => pack::pack_mortal(machine)?,
    };
    tarball.unpack(&folder.join("node_modules/warena"))?;
    workspace::copy(&workspace::root().join("tests/kill"), &folder)?;
    let manifest = folder.join("package.json");
    std::fs::write(&manifest, "{ \"private\": true, \"type\": \"module\" }\n")
        .with_context(|| format!("cannot write {}", manifest.display()))?;
    let mut killer = npm::node(folder.join("main.mjs"));
    machine.dress(&mut killer)?;
    killer
        .args([host.name(), kind.name()])
        .current_dir(&folder)
        .env("WARENA_ROOT", workspace::root());
    match host {
        Host::Node => {}
        Host::Chrome => {
            let chromium = browser::chrome().context("no Chromium: cargo xtask setup")?;
            killer.env("WARENA_CHROMIUM", chromium);
        }
        Host::Firefox => {
            let firefox = browser::firefox().context("no Firefox: cargo xtask setup")?;
            killer.env("WARENA_FIREFOX", firefox);
        }
    }
    Ok(killer)
}
