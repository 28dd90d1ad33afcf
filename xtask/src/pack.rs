//! `cargo xtask pack`: builds the npm package, `target/npm/warena-<version>.tgz`.
//!
//! ```text
//! wasm/ --cargo--> .wasm --wasm-pack--> target/npm/glue --wasm/npm/build.mjs--> target/npm/package
//!                  (threads)  (glue, wasm-opt)      (TypeScript, manifest)            │ npm pack
//!                                                                       target/npm/warena-*.tgz
//! ```
//!
//! A second build of it, below `target/npm-death`, is for tests that end agents in the middle of a
//! write: the module's feature `death`.
//!
//! Cargo itself knows whether the `.wasm` is current. What follows is skipped when a fingerprint
//! of that file, of `wasm/npm/` and of the tools' versions is the one kept beside the tarball.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::cargo_tool::CargoTool;
use crate::lock::Lock;
use crate::machine::Machine;
use crate::process::{self, command};
use crate::step::Step;
use crate::{npm, workspace};

/// The flags of the threads build, for any cargo command that builds WebAssembly.
pub const THREADS: [&str; 4] = [
    "--config",
    ".cargo/threads.toml",
    "--target",
    "wasm32-unknown-unknown",
];

/// A packed package.
pub struct Tarball {
    /// The file.
    pub path: PathBuf,
    /// Changes when its content does.
    fingerprint: String,
}

/// A build of the package.
struct Build {
    /// The folder below `target/`.
    folder: &'static str,
    /// What cargo is told beyond the usual.
    flags: &'static [&'static str],
}

/// Builds the package, or finds that it is current.
pub fn pack(machine: &Machine) -> Result<Tarball> {
    let shipped = Build {
        folder: "npm",
        flags: &[],
    };
    pack_build(machine, &shipped)
}

/// The same of the build whose agents can be made to stand still before any of their writes.
pub fn pack_mortal(machine: &Machine) -> Result<Tarball> {
    let mortal = Build {
        folder: "npm-death",
        flags: &["--features", "death"],
    };
    pack_build(machine, &mortal)
}

fn pack_build(machine: &Machine, build: &Build) -> Result<Tarball> {
    let _lock = Lock::take("pack")?;
    let folder = workspace::target().join(build.folder);
    let wasm = compile(machine, "warena-wasm", build.flags)?;
    let fingerprint = fingerprint(machine, &wasm)?;
    let path = folder.join(format!("warena-{}.tgz", machine.pins().package()?));
    let kept = folder.join("fingerprint");
    let tarball = Tarball { path, fingerprint };
    if tarball.path.is_file()
        && std::fs::read_to_string(&kept).ok() == Some(tarball.fingerprint.clone())
    {
        return Ok(tarball);
    }
    for stale in [&folder.join("package"), &folder.join("glue")] {
        remove(stale)?;
    }
    let (glue, staging) = (folder.join("glue"), folder.join("package"));
    std::fs::create_dir_all(&staging)
        .with_context(|| format!("cannot make {}", staging.display()))?;

    // "force" skips one check: wasm-pack looks for a shipped standard library of the target, and
    // this build compiles its own. `--config` is seen from wasm/, where wasm-pack runs cargo.
    let mut wasm_pack = machine.wasm("wasm-pack", &["build", "wasm", "--mode", "force"])?;
    wasm_pack
        .args(["--target", "web", "--release", "--no-pack", "--out-dir"])
        .arg(&glue);
    wasm_pack.args(["--", "--config", "../.cargo/threads.toml"]);
    wasm_pack.args(build.flags);
    let mut build_script = npm::node(workspace::root().join("wasm/npm/build.mjs"));
    build_script.arg(&glue).arg(&staging);
    machine.dress(&mut build_script)?;
    let mut npm_pack = command("npm", &["pack", "--pack-destination"]);
    npm_pack.arg(&folder).current_dir(&staging);
    Step {
        title: "npm package: glue, wasm-opt, TypeScript".to_owned(),
        seconds: 10,
        log: "pack".to_owned(),
        commands: vec![wasm_pack, build_script, npm_pack],
        otherwise: None,
    }
    .run()?;
    if !tarball.path.is_file() {
        bail!(
            "npm pack made no {}: wasm/npm/package.json must carry the name warena and the \
             workspace's version",
            tarball.path.display()
        );
    }
    std::fs::write(&kept, &tarball.fingerprint)
        .with_context(|| format!("cannot write {}", kept.display()))?;
    Ok(tarball)
}

/// Builds a crate for WebAssembly with threads, cargo having these flags as well; the `.wasm` file.
pub fn compile(machine: &Machine, package: &str, flags: &[&str]) -> Result<PathBuf> {
    let folder = workspace::target().join("wasm32-unknown-unknown/release");
    let wasm = folder.join(format!("{}.wasm", package.replace('-', "_")));
    let first = !folder.join("deps").is_dir();
    if first {
        println!("  (the first build compiles Rust's standard library with threads as well)");
    }
    let mut build = machine.wasm("cargo", &["build", "--release", "--lib", "-p", package])?;
    build.args(THREADS).args(flags);
    Step {
        title: format!("{package} as WebAssembly"),
        seconds: if first { 120 } else { 5 },
        log: format!("build-{package}"),
        commands: vec![build],
        otherwise: None,
    }
    .run()?;
    Ok(wasm)
}

impl Tarball {
    /// Puts the package into `web/node_modules`, as npm would: it has no dependencies.
    ///
    /// Not by npm, which would drop it again at the next `npm ci` and note it in the lock file.
    pub fn install_in_web(&self) -> Result<()> {
        self.unpack(&workspace::web().join("node_modules/warena"))
    }

    /// Unpacks the package into a folder of its own, which is kept when it is current.
    pub fn unpack(&self, place: &Path) -> Result<()> {
        let kept = place.join(".fingerprint");
        if std::fs::read_to_string(&kept).ok().as_ref() == Some(&self.fingerprint) {
            return Ok(());
        }
        remove(place)?;
        std::fs::create_dir_all(place)
            .with_context(|| format!("cannot make {}", place.display()))?;
        let mut tar = command("tar", &["-xzf"]);
        process::run(
            tar.arg(&self.path)
                .arg("-C")
                .arg(place)
                .arg("--strip-components=1"),
        )?;
        std::fs::write(&kept, &self.fingerprint)
            .with_context(|| format!("cannot write {}", kept.display()))
    }
}

/// A hash of all that the package is made from.
fn fingerprint(machine: &Machine, wasm: &Path) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    for tool in [CargoTool::WasmBindgen, CargoTool::WasmPack] {
        tool.version(machine.pins())?.hash(&mut hasher);
    }
    let root = workspace::root();
    let mut files = vec![
        wasm.to_path_buf(),
        root.join("wasm/Cargo.toml"),
        root.join("web/package-lock.json"),
    ];
    collect(&root.join("wasm/npm"), &mut files)?;
    for file in files {
        file.hash(&mut hasher);
        std::fs::read(&file)
            .with_context(|| format!("cannot read {}", file.display()))?
            .hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

/// Every file below a folder, in a fixed order.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let read =
        std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut entries = read.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::path);
    for entry in entries {
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// Removes a folder; one that is not there is fine.
pub fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    Ok(())
}
