//! Compiles mimalloc's C code for the WebAssembly modules that measure it, and does nothing for all
//! other builds.
//!
//! The source is that of the crate `libmimalloc-sys`, which brings versions 2 and 3; it is copied to
//! the build's own folder for one change. That crate's own build script is of no use here: it knows
//! no WebAssembly with threads.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The compiler, by the names that it goes by.
const COMPILERS: [&str; 2] = ["clang-19", "clang"];

/// Headers of a C library for WebAssembly; nothing is linked from it.
const HEADERS: &str = "/usr/include/wasm32-wasi";

/// A lock of mimalloc's gives up after so many tries, and goes on without it: it is meant for one
/// thread. Here there are several.
const GIVES_UP: &str = "for (int i = 0; i < 10000; i++) {";
const TRIES_ON: &str = "for (;;) {";

/// Flags of the threads build. The start-up code is left out, as wasm-ld would wrap every export in
/// it: the peer calls what it would have called.
const FLAGS: [&str; 12] = [
    "--target=wasm32-wasi",
    "-O3",
    "-matomics",
    "-mbulk-memory",
    "-mmutable-globals",
    "-ftls-model=local-exec",
    "-fvisibility=hidden",
    "-DNDEBUG",
    "-DMI_SECURE=0",
    "-DMI_DEBUG=0",
    "-DMI_PRIM_HAS_PROCESS_ATTACH=1",
    "-c",
];

fn main() -> Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=mimalloc/libc.c");
    let wasm = env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm");
    let versions = [
        ("CARGO_FEATURE_MIMALLOC_V2", "v2"),
        ("CARGO_FEATURE_MIMALLOC_V3", "v3"),
    ];
    let mut wanted = versions
        .into_iter()
        .filter(|(feature, _)| env::var_os(feature).is_some());
    if !wasm {
        return Ok(());
    }
    let Some((_, version)) = wanted.next() else {
        return Ok(());
    };
    if wanted.next().is_some() {
        return Err("both versions of mimalloc in one module: their symbols are the same".into());
    }

    let out = PathBuf::from(env::var("OUT_DIR")?);
    let source = out.join(version);
    copy(
        &crate_source()?.join("c_src/mimalloc").join(version),
        &source,
    )?;
    let atomic = source.join("include/mimalloc/atomic.h");
    let text = fs::read_to_string(&atomic)?;
    if !text.contains(GIVES_UP) {
        return Err(format!("{} has no {GIVES_UP:?}: look at its lock", atomic.display()).into());
    }
    fs::write(&atomic, text.replace(GIVES_UP, TRIES_ON))?;

    for (file, object) in [
        (source.join("src/static.c"), out.join("mimalloc.o")),
        (PathBuf::from("mimalloc/libc.c"), out.join("libc.o")),
    ] {
        compile(&file, &source.join("include"), &object)?;
        println!("cargo::rustc-link-arg-cdylib={}", object.display());
    }
    Ok(())
}

/// The folder of the crate that has the source.
///
/// Cargo knows it, and tells in JSON. A manifest's path is all that is wanted of that, so it is
/// looked for as text: a parser would be one more dependency of every build.
fn crate_source() -> Result<PathBuf> {
    let cargo = env::var("CARGO")?;
    let arguments = ["metadata", "--format-version", "1", "--all-features"];
    let output = Command::new(cargo).args(arguments).output()?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("cargo metadata failed: {text}").into());
    }
    let text = String::from_utf8(output.stdout)?;
    let mut folders = text
        .split("\"manifest_path\":\"")
        .filter_map(|rest| Path::new(rest.split('"').next()?).parent());
    let folder = folders.find(|folder| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libmimalloc-sys-")
    });
    Ok(folder
        .ok_or("cargo metadata names no libmimalloc-sys")?
        .into())
}

fn compile(file: &Path, include: &Path, object: &Path) -> Result<()> {
    let works = |name: &&&str| Command::new(name).arg("--version").output().is_ok();
    let compiler = COMPILERS.iter().find(works);
    let compiler = compiler.ok_or("no clang: cargo xtask bench installs it")?;
    let status = Command::new(compiler)
        .args(FLAGS)
        .args(["-isystem", HEADERS, "-I"])
        .arg(include)
        .arg(file)
        .arg("-o")
        .arg(object)
        .status()?;
    if !status.success() {
        return Err(format!("{compiler} failed on {}", file.display()).into());
    }
    Ok(())
}

/// Copies a folder, writable whatever the source is.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::write(target, fs::read(entry.path())?)?;
        }
    }
    Ok(())
}
