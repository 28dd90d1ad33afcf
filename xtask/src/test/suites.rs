//! Which checks each suite consists of, and the commands they run.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::Suite;
use crate::cargo_tool::CargoTool;
use crate::kill::{Host, Kind};
use crate::machine::Machine;
use crate::process::command;
use crate::toolchain::Toolchain;
use crate::{bench, browser, kill, pack, sanitizer, workspace};

/// Node's test runner on the files below the current folder, a line per test.
const NODE_TEST: [&str; 2] = ["--test", "--test-reporter=spec"];

/// One check: its name, and its commands, made when its turn comes.
pub struct Check {
    /// The name in the table.
    pub name: &'static str,
    /// The commands, all of which must succeed.
    pub commands: fn(&Machine) -> Result<Vec<Command>>,
}

/// The checks of a suite, in their order.
pub fn checks(suite: Suite) -> Vec<Check> {
    match suite {
        Suite::Lint => vec![
            Check {
                name: "format",
                commands: |_| cargo(&["fmt", "--all", "--check"]),
            },
            Check {
                name: "clippy",
                commands: |_| {
                    let clippy = |scope: &[&str]| {
                        let all = [&["clippy", "--all-targets", "--quiet"], scope];
                        cargo(&[&all.concat()[..], &["--", "-D", "warnings"]].concat())
                    };
                    // The build for deaths is another one of the core, with a test of its own.
                    let deaths = clippy(&["-p", "warena-tests", "--features", "death"])?;
                    Ok([clippy(&["--workspace"])?, deaths]
                        .into_iter()
                        .flatten()
                        .collect())
                },
            },
            Check {
                name: "clippy of the threads build",
                commands: clippy_of_threads,
            },
            Check {
                name: "types of the page",
                commands: types_of_page,
            },
        ],
        Suite::Native => vec![
            Check {
                name: "unit, integration and doc tests",
                commands: |_| {
                    let without = ["--exclude", "warena-wasm", "--exclude", "warena-tests"];
                    cargo(&[&["test", "--workspace"][..], &without].concat())
                },
            },
            Check {
                name: "model and stress tests, optimised",
                commands: |_| cargo(&["test", "--release", "-p", "warena-tests"]),
            },
            Check {
                name: "deaths before every write",
                commands: |_| {
                    let test = ["test", "--release", "-p", "warena-tests"];
                    cargo(&[&test[..], &["--features", "death", "--test", "death"]].concat())
                },
            },
            Check {
                name: "interleavings (loom)",
                commands: loom,
            },
        ],
        Suite::Node => vec![
            Check {
                name: "bindings in Node",
                commands: |machine| Ok(vec![bindings(machine, &["node".to_owned()])?]),
            },
            Check {
                name: "package in worker_threads",
                commands: package_in_node,
            },
            Check {
                name: "workloads of the benchmarks",
                commands: |machine| Ok(vec![bench::moment(machine)?]),
            },
            Check {
                name: "model of the page",
                commands: model_of_page,
            },
        ],
        Suite::Chrome => vec![Check {
            name: "bindings in Chromium",
            commands: in_chrome,
        }],
        Suite::Firefox => vec![Check {
            name: "bindings in Firefox",
            commands: in_firefox,
        }],
        Suite::E2e => vec![Check {
            name: "page in Chromium",
            commands: page,
        }],
        Suite::Kill => vec![
            Check {
                name: "random kills in Node",
                commands: |machine| kills(machine, Kind::Random, Host::Node, "1000"),
            },
            Check {
                name: "random kills in Chromium",
                commands: |machine| kills(machine, Kind::Random, Host::Chrome, "50"),
            },
            Check {
                name: "random kills in Firefox",
                commands: |machine| kills(machine, Kind::Random, Host::Firefox, "50"),
            },
            Check {
                name: "kills at chosen writes in Node",
                commands: |machine| kills(machine, Kind::Chosen, Host::Node, "10"),
            },
        ],
        Suite::Tsan => vec![Check {
            name: "races (ThreadSanitizer)",
            commands: |machine| Ok(vec![sanitizer::watch(machine)?]),
        }],
        Suite::Fuzz => vec![Check {
            name: "scripts from a fuzzer",
            commands: fuzz,
        }],
    }
}

/// A cargo command with the user's own toolchain.
fn cargo(arguments: &[&str]) -> Result<Vec<Command>> {
    let mut cargo = command("cargo", arguments);
    cargo.current_dir(workspace::root());
    Ok(vec![cargo])
}

fn loom(_: &Machine) -> Result<Vec<Command>> {
    let mut commands = cargo(&["test", "-p", "warena", "--release", "--lib"])?;
    for command in &mut commands {
        // Its own target folder: with these flags everything is compiled anew.
        command.env("RUSTFLAGS", "--cfg loom");
        command.env("CARGO_TARGET_DIR", workspace::target().join("loom"));
    }
    Ok(commands)
}

/// A minute from the committed corpus on. What is found beyond it is kept below the target
/// folder; a script that fails, in `tests/fuzz/artifacts`.
fn fuzz(machine: &Machine) -> Result<Vec<Command>> {
    let tool = CargoTool::Fuzz.folder(machine.pins())?;
    let program = tool.context("no cargo-fuzz: cargo xtask test fuzz installs it")?;
    let nightly = Toolchain::nightly().context("no nightly toolchain")?;
    let target = workspace::target().join("fuzz");
    let found = target.join("corpus");
    std::fs::create_dir_all(&found).with_context(|| format!("cannot make {}", found.display()))?;
    let mut fuzz = command(
        program.join("cargo-fuzz"),
        // All memory is mapped by hand, which AddressSanitizer does not watch: it would only cost.
        &["run", "--fuzz-dir", "tests/fuzz", "--sanitizer", "none"],
    );
    fuzz.arg("--target-dir")
        .arg(target)
        .arg("script")
        .arg(found)
        .arg("tests/fuzz/corpus/script")
        .args(["--", "-max_total_time=60", "-max_len=1024"])
        .current_dir(workspace::root())
        .env("RUSTUP_TOOLCHAIN", nightly)
        .env_remove("RUSTC_BOOTSTRAP")
        // The cargo that runs this program, which is not the nightly one.
        .env_remove("CARGO");
    Ok(vec![fuzz])
}

/// In release, for which the standard library has been built already.
fn clippy_of_threads(machine: &Machine) -> Result<Vec<Command>> {
    let peers = ["--features", "warena-benches/peers"];
    let libraries = ["-p", "warena", "-p", "warena-benches", "--lib"];
    let libraries = [&libraries[..], &peers].concat();
    let scopes: [&[&str]; 2] = [&libraries, &["-p", "warena-wasm", "--all-targets"]];
    let clippy = |scope: &&[&str]| {
        let mut clippy = machine.clippy(&["--quiet", "--release"])?;
        clippy
            .args(*scope)
            .args(pack::THREADS)
            .args(["--", "-D", "warnings"]);
        Ok(clippy)
    };
    scopes.iter().map(clippy).collect()
}

fn types_of_page(machine: &Machine) -> Result<Vec<Command>> {
    pack::pack(machine)?.install_in_web()?;
    Ok(vec![in_web(machine, "tsc", &["--noEmit"])?])
}

fn model_of_page(machine: &Machine) -> Result<Vec<Command>> {
    pack::pack(machine)?.install_in_web()?;
    Ok(vec![in_web(machine, "vitest", &["run"])?])
}

fn in_web(machine: &Machine, program: &str, arguments: &[&str]) -> Result<Command> {
    let mut command = machine.wasm(program, arguments)?;
    command.current_dir(workspace::web());
    Ok(command)
}

/// The package as its users get it: installed by npm from the tarball into a fresh folder.
fn package_in_node(machine: &Machine) -> Result<Vec<Command>> {
    let tarball = pack::pack(machine)?;
    let folder = workspace::target().join("node-test");
    pack::remove(&folder)?;
    workspace::copy(&workspace::root().join("tests/node"), &folder)?;
    let manifest = folder.join("package.json");
    std::fs::write(&manifest, "{ \"private\": true, \"type\": \"module\" }\n")
        .with_context(|| format!("cannot write {}", manifest.display()))?;
    let mut install = command("npm", &["install", "--no-audit", "--no-fund"]);
    install.arg(&tarball.path).current_dir(&folder);
    let mut test = command("node", &NODE_TEST);
    test.current_dir(&folder)
        .env("WARENA_ROOT", workspace::root());
    Ok(vec![install, test])
}

/// A tenth of what a release is to stand.
fn kills(machine: &Machine, kind: Kind, host: Host, count: &str) -> Result<Vec<Command>> {
    let mut killer = kill::killer(machine, kind, host)?;
    killer.args(["--kills", count]);
    Ok(vec![killer])
}

fn in_chrome(machine: &Machine) -> Result<Vec<Command>> {
    let driver = browser::chromedriver().context("no chromedriver: cargo xtask setup")?;
    let mut test = bindings(machine, &browser_tests()?)?;
    test.env("CHROMEDRIVER", driver).env_remove("GECKODRIVER");
    Ok(vec![test])
}

fn in_firefox(machine: &Machine) -> Result<Vec<Command>> {
    let folder = CargoTool::Geckodriver.folder(machine.pins())?;
    let driver = folder
        .context("no geckodriver: cargo xtask setup")?
        .join("geckodriver");
    let mut test = bindings(machine, &browser_tests()?)?;
    // With both set the runner takes one silently: only one is ever set.
    test.env("GECKODRIVER", driver).env_remove("CHROMEDRIVER");
    Ok(vec![test])
}

/// The page test brings its own server, on a port of its own.
fn page(machine: &Machine) -> Result<Vec<Command>> {
    pack::pack(machine)?.install_in_web()?;
    let mut test = machine.wasm("node", &NODE_TEST)?;
    let chromium = browser::chrome().context("no Chromium: cargo xtask setup")?;
    test.current_dir(workspace::root().join("tests/e2e"))
        .env("WARENA_CHROMIUM", chromium);
    Ok(vec![test])
}

/// Test files of the bindings, in release so that the standard library is built once.
fn bindings(machine: &Machine, tests: &[String]) -> Result<Command> {
    let mut cargo = machine.wasm("cargo", &["test", "--release", "-p", "warena-wasm"])?;
    cargo.args(pack::THREADS);
    for test in tests {
        cargo.args(["--test", test]);
    }
    Ok(cargo)
}

/// The names of the test files that run in a browser: all but `node`.
fn browser_tests() -> Result<Vec<String>> {
    let folder = wasm_tests();
    let mut names = Vec::new();
    let read =
        std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in read {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs")
            && let Some(name) = path.file_stem().and_then(|name| name.to_str())
            && name != "node"
        {
            names.push(name.to_owned());
        }
    }
    if names.is_empty() {
        bail!("{} has no test for a browser", folder.display());
    }
    names.sort();
    Ok(names)
}

fn wasm_tests() -> PathBuf {
    workspace::root().join("wasm/tests")
}
