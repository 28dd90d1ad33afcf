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

/// What is wrong with Node and npm; `None` when both serve.
pub fn node_problem() -> Option<String> {
    let Some(version) = ask(&mut command("node", &["--version"])) else {
        return Some(format!("node is missing (version {OLDEST_NODE} or later)"));
    };
    let major = version
        .trim_start_matches('v')
        .split('.')
        .next()
        .and_then(|n| n.parse().ok());
    if major.is_none_or(|major: u32| major < OLDEST_NODE) {
        return Some(format!(
            "node is {version}, but {OLDEST_NODE} or later is needed"
        ));
    }
    ask(&mut command("npm", &["--version"]))
        .is_none()
        .then(|| "npm is missing".to_owned())
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
