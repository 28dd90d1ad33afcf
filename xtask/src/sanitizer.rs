//! ThreadSanitizer: the tests of concurrency with every access watched.
//!
//! The standard library is built along, or its locks and channels would be reported as races.
//! Debian's Rust has no sanitizer runtime of its own and links clang's.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::machine::Machine;
use crate::process::{ask, command};
use crate::workspace;

/// The tests that several threads take part in: watched, each takes some twenty times as long.
const TESTS: [&str; 9] = [
    "busy",
    "bug_21",
    "bug_27",
    "bug_31",
    "figures",
    "huge::four",
    "nowait",
    "reentry",
    "threads",
];

/// Whether this clang has the runtime of ThreadSanitizer.
pub fn has_runtime(clang: &Path) -> bool {
    let name = format!("libclang_rt.tsan-{}.a", std::env::consts::ARCH);
    ask(&mut command(clang, &[format!("-print-file-name={name}")]))
        .is_some_and(|file| Path::new(&file).is_file())
}

/// Runs the tests of several threads under ThreadSanitizer.
pub fn watch(machine: &Machine) -> Result<Command> {
    let mut cargo = machine.wasm("cargo", &["test", "--release", "-Zbuild-std"])?;
    cargo
        .args(["--target", machine.host()?.as_str(), "-p", "warena-tests"])
        .args(["--test", "all", "--"])
        .args(TESTS)
        .env(
            "RUSTFLAGS",
            "-Zsanitizer=thread -Zexternal-clangrt -Clinker=clang-19 -Clink-arg=-fsanitize=thread",
        )
        // Its own target folder: with these flags everything is compiled anew.
        .env("CARGO_TARGET_DIR", workspace::target().join("tsan"))
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    Ok(cargo)
}
