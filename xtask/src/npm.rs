//! Node, npm, and the npm packages of `web/`, which hold every JavaScript tool of the project.
//!
//! `npm ci` is run only when `web/package-lock.json` differs from the copy that was kept when the
//! packages were last installed: asking npm itself would cost a second at every start.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::{ask, command};
use crate::step::Step;
use crate::workspace;

/// The oldest Node that runs the page's tools and the tests.
const OLDEST_NODE: u32 = 20;

/// What there is of Node and npm.
pub enum Found {
    /// Both, recent enough.
    Fitting,
    /// Node of this version, too old.
    Old(String),
    /// Node or npm is missing.
    Nothing,
}

/// Looks for Node and npm.
pub fn find() -> Found {
    let Some(version) = ask(&mut command("node", &["--version"])) else {
        return Found::Nothing;
    };
    let digits = version.trim_start_matches('v').split('.').next();
    let major: Option<u32> = digits.and_then(|digits| digits.parse().ok());
    if major.is_none_or(|major| major < OLDEST_NODE) {
        return Found::Old(version);
    }
    match ask(&mut command("npm", &["--version"])) {
        Some(_) => Found::Fitting,
        None => Found::Nothing,
    }
}

/// Whether the packages of `web/` are installed as its lock file says.
pub fn packages_present() -> bool {
    let read = |path: PathBuf| std::fs::read(path).ok();
    let wanted = read(workspace::web().join("package-lock.json"));
    wanted.is_some() && wanted == read(installed_lock())
}

/// The step that installs the packages of `web/`.
pub fn install() -> Step {
    let mut npm = command("npm", &["ci", "--no-audit", "--no-fund"]);
    npm.current_dir(workspace::web());
    Step {
        title: "npm packages of web/".to_owned(),
        seconds: 20,
        log: "npm".to_owned(),
        commands: vec![npm],
        otherwise: None,
    }
}

/// Remembers that the packages are those of the lock file; called once they are installed.
pub fn keep_lock() -> Result<()> {
    let lock = workspace::web().join("package-lock.json");
    std::fs::copy(&lock, installed_lock())
        .with_context(|| format!("cannot copy {}", lock.display()))?;
    Ok(())
}

/// The folder of the programs that the packages bring (`vite`, `tsc`, `wasm-opt`).
pub fn programs() -> PathBuf {
    workspace::web().join("node_modules/.bin")
}

/// Node, running a script.
pub fn node(script: impl Into<PathBuf>) -> Command {
    let mut node = Command::new("node");
    node.arg(script.into());
    node
}

fn installed_lock() -> PathBuf {
    workspace::web().join("node_modules/.warena-lock.json")
}
