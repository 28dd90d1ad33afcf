//! Debian's packages: whether this is Debian, and how to install as root or through sudo.

use std::process::Command;

use anyhow::{Result, bail};

use crate::process::{ask, command, find};
use crate::step::Step;

/// Whether this is Debian itself. Derivatives are not asked: their packages differ.
pub fn is_debian() -> bool {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    release.lines().any(|line| line == "ID=debian") && find("apt-get").is_some()
}

/// The step that installs the packages; an error with the command to type when only root could.
pub fn install(packages: &[&str]) -> Result<Step> {
    let list = packages.join(" ");
    let prefix: &[&str] = if ask(&mut command("id", &["-u"])).as_deref() == Some("0") {
        &[]
    } else if ask(&mut command("sudo", &["-n", "true"])).is_some() {
        &["sudo", "-n"]
    } else {
        bail!(
            "these Debian packages are missing, and installing them needs root: {list}\n\
             run this, then the same cargo xtask command again:\n    \
             sudo apt-get update && sudo apt-get install -y --no-install-recommends {list}"
        );
    };
    let apt = |arguments: &[&str]| -> Command {
        // Another apt may be at work: wait for it instead of failing.
        let all = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o"];
        let words: Vec<&str> = [prefix, &all, &["DPkg::Lock::Timeout=600"], arguments].concat();
        command(words[0], &words[1..])
    };
    let mut arguments = vec!["install", "-y", "--no-install-recommends"];
    arguments.extend(packages);
    Ok(Step {
        title: format!("{} Debian packages", packages.len()),
        seconds: 20 + 8 * packages.len() as u64,
        log: "apt".to_owned(),
        commands: vec![apt(&["update"]), apt(&arguments)],
        otherwise: None,
    })
}
