//! `cargo xtask bench size [--record]`: what an allocator weighs in WebAssembly.
//!
//! The least module that allocates (`benches/size`) is built with threads for each heap, for speed as
//! any release build is and for size, and optimised as such a build would be. What it has more with a
//! heap than with one that never has memory is the heap's.

use std::fmt::Write;

use anyhow::{Context, Result};

use crate::machine::Machine;
use crate::pack::THREADS;
use crate::step::Step;
use crate::workspace;

/// The crate.
const PACKAGE: &str = "warena-bench-size";

/// The heaps: their names, and the feature that each is; dlmalloc is that of Rust's standard library.
const HEAPS: [(&str, Option<&str>); 3] = [
    ("null", Some("null")),
    ("dlmalloc", None),
    ("warena", Some("warena")),
];

/// What it is built for: the profile, and the optimiser's level.
const BUILDS: [(&str, &str, &str); 2] = [("speed", "release", "-O3"), ("size", "small", "-Oz")];

/// Builds all, prints a table, and returns the rows as JSON.
pub fn measure(machine: &Machine) -> Result<String> {
    let mut rows = Vec::new();
    println!("bytes of a module, and what it has more than with a heap without memory\n");
    println!(
        "{:<12}{:>16}{:>20}",
        "", "built for speed", "built for size"
    );
    let mut least = [0; BUILDS.len()];
    for (heap, feature) in HEAPS {
        let mut line = format!("{heap:<12}");
        for ((build, profile, level), least) in BUILDS.into_iter().zip(&mut least) {
            let bytes = module(machine, heap, feature, profile, level)?;
            if feature == Some("null") {
                *least = bytes;
            }
            // Writing to a string cannot fail.
            let _ = write!(line, "{bytes:>8}{:>+10}", bytes as i64 - *least as i64);
            rows.push(format!(
                "{{\"bench\":\"size\",\"allocator\":\"{heap}\",\"config\":\"{build}\",\"host\":\"size\",\
                 \"producers\":0,\"allocs\":0,\"size\":{bytes},\"pair_ns\":0,\"ops\":0,\"spread\":{{}}}}"
            ));
        }
        println!("{line}");
    }
    Ok(format!("[\n{}\n]\n", rows.join(",\n")))
}

/// Builds and optimises one module; its bytes.
fn module(
    machine: &Machine,
    heap: &str,
    feature: Option<&str>,
    profile: &str,
    level: &str,
) -> Result<u64> {
    let folder = workspace::target()
        .join("wasm32-unknown-unknown")
        .join(profile);
    let first = !folder.join("deps").is_dir();
    let mut cargo = machine.wasm("cargo", &["build", "--lib", "-p", PACKAGE, "--profile"])?;
    cargo.arg(profile).args(THREADS);
    cargo.args(
        feature
            .map(|name| ["--features", name])
            .into_iter()
            .flatten(),
    );
    let built = folder.join("warena_bench_size.wasm");
    let small = folder.join(format!("warena_bench_size_{heap}.wasm"));
    let mut optimise = machine.wasm("wasm-opt", &[level])?;
    optimise.arg(&built).arg("-o").arg(&small);
    Step {
        title: format!("module with {heap}, profile {profile}"),
        seconds: if first { 120 } else { 5 },
        log: format!("bench-size-{heap}-{profile}"),
        commands: vec![cargo, optimise],
        otherwise: None,
    }
    .run()?;
    let found = std::fs::metadata(&small);
    Ok(found
        .with_context(|| format!("no {}", small.display()))?
        .len())
}
