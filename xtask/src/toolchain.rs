//! The Rust toolchain that builds WebAssembly with threads.
//!
//! Threads need a standard library compiled with atomics, which no toolchain ships: cargo builds
//! it (`-Z build-std`) from the library's source. So this looks for a toolchain that has the
//! source, in this order: those that rustup knows, its default first; the system's in `/usr`. When
//! there is none, [`Toolchain::remedy`] says where one comes from: Debian's packages, or elsewhere
//! a pinned nightly by rustup. `RUSTC_BOOTSTRAP=1` makes a stable one accept `-Z` flags.
//!
//! The choice reaches cargo as environment variables, never as a committed file: it belongs to
//! the machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::apt;
use crate::need::Remedy;
use crate::process::{ask, command, find};
use crate::workspace::Pins;

/// The oldest compiler that this project was built with; older ones are passed over.
const OLDEST: (u32, u32) = (1, 95);
/// The linker of Debian's package `lld-19`, for a toolchain that brings none.
const SYSTEM_LINKER: &str = "wasm-ld-19";

/// A toolchain that can build the standard library.
#[derive(Debug, Clone)]
pub struct Toolchain {
    /// What rustup calls it, a path included: `stable-x86_64-…`, `/usr`.
    name: String,
    sysroot: PathBuf,
    /// The compiler's version line.
    version: String,
}

impl Toolchain {
    /// The first installed toolchain that has the standard library's source.
    pub fn find() -> Option<Self> {
        Self::installed().into_iter().find(|toolchain| {
            let source = toolchain
                .sysroot
                .join("lib/rustlib/src/rust/library/Cargo.lock");
            source.is_file() && minor(&toolchain.version).is_some_and(|found| found >= OLDEST)
        })
    }

    /// Toolchains worth a look, best first.
    fn installed() -> Vec<Self> {
        // `rustup toolchain list -v` prints "name (active, default) path"; paths may hold blanks.
        let listed = ask(&mut command("rustup", &["toolchain", "list", "-v"])).unwrap_or_default();
        let mut lines: Vec<&str> = listed.lines().collect();
        lines.sort_by_key(|line| !line.contains("default"));
        let mut places: Vec<(String, PathBuf)> = lines
            .iter()
            .filter_map(|line| {
                let name = line.split_whitespace().next()?;
                let path = line.find('/').map(|at| PathBuf::from(&line[at..]))?;
                Some((name.to_owned(), path))
            })
            .collect();
        if listed.is_empty()
            && let Some(sysroot) = ask(&mut command("rustc", &["--print", "sysroot"]))
        {
            places.push((sysroot.clone(), PathBuf::from(sysroot)));
        }
        places.push(("/usr".to_owned(), PathBuf::from("/usr")));
        places
            .into_iter()
            .filter_map(|(name, sysroot)| {
                let version = ask(&mut command(sysroot.join("bin/rustc"), &["--version"]))?;
                Some(Self {
                    name,
                    sysroot,
                    version,
                })
            })
            .collect()
    }

    /// Where a toolchain with the source comes from on this machine.
    pub fn remedy(pins: &Pins) -> Result<Remedy> {
        if apt::is_debian() {
            // Never rustup here: Debian's packages are complete, signed and of one version.
            return Ok(Remedy::Apt(&[
                "rustc-web",
                "cargo-web",
                "rust-web-src",
                "lld-19",
            ]));
        }
        if find("rustup").is_some() {
            return Ok(Remedy::Rustup {
                toolchain: pins.tool("nightly")?,
            });
        }
        Ok(Remedy::Manual(
            "install a Rust toolchain that has the component rust-src, for instance with rustup: \
             rustup component add rust-src"
                .to_owned(),
        ))
    }

    /// The target triple of programs for this machine.
    pub fn host(&self) -> Option<String> {
        let text = ask(Command::new(self.sysroot.join("bin/rustc")).arg("-vV"))?;
        text.lines()
            .find_map(|line| line.strip_prefix("host: ").map(str::to_owned))
    }

    /// The first nightly toolchain that rustup knows: its name.
    pub fn nightly() -> Option<String> {
        Self::installed()
            .into_iter()
            .map(|toolchain| toolchain.name)
            .find(|name| name.starts_with("nightly"))
    }

    /// The linker to name to cargo; `None` when the toolchain has its own.
    fn linker(&self) -> Option<&'static str> {
        let own = self.host().map(|host| {
            self.sysroot
                .join("lib/rustlib")
                .join(host)
                .join("bin/rust-lld")
        });
        if own.is_some_and(|file| file.is_file()) {
            None
        } else {
            Some(SYSTEM_LINKER)
        }
    }

    /// Whether a linker is there: the toolchain's own or the system's.
    pub fn has_linker(&self) -> bool {
        self.linker().is_none_or(|name| find(name).is_some())
    }

    /// The variables that make every cargo below use this toolchain.
    pub fn environment(&self) -> Vec<(String, String)> {
        let mut variables = vec![
            ("RUSTUP_TOOLCHAIN".to_owned(), self.name.clone()),
            ("RUSTC_BOOTSTRAP".to_owned(), "1".to_owned()),
        ];
        if let Some(linker) = self.linker() {
            let variable = "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER";
            variables.push((variable.to_owned(), linker.to_owned()));
        }
        variables
    }

    /// The folder of `cargo-clippy`, when the toolchain has it.
    ///
    /// It must come first on the `PATH`: rustup's own `cargo-clippy` refuses a toolchain by path.
    pub fn clippy(&self) -> Option<PathBuf> {
        let programs = self.sysroot.join("bin");
        programs.join("cargo-clippy").is_file().then_some(programs)
    }

    /// Where the toolchain's clippy comes from.
    pub fn clippy_remedy(&self) -> Remedy {
        if apt::is_debian() && self.sysroot == Path::new("/usr") {
            return Remedy::Apt(&["rust-web-clippy"]);
        }
        Remedy::Manual(format!(
            "rustup component add clippy --toolchain {}",
            self.name
        ))
    }

    /// The folder to put first on the `PATH` where no rustup obeys `RUSTUP_TOOLCHAIN`.
    pub fn programs(&self) -> Option<PathBuf> {
        let obeyed = find("rustup").is_some();
        (!obeyed).then(|| self.sysroot.join("bin"))
    }

    /// One line for people: version and place.
    pub fn describe(&self) -> String {
        format!("{} in {}", self.version, self.sysroot.display())
    }
}

/// Major and minor version out of "rustc 1.96.0 (…)".
fn minor(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split_whitespace().nth(1)?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_read_from_what_the_compiler_says() {
        let debian = "rustc 1.96.0 (ac68faa20 2026-05-25) (built from a source tarball)";
        assert_eq!(minor(debian), Some((1, 96)));
        assert_eq!(
            minor("rustc 1.97.0-nightly (e50aa6fba 2026-05-19)"),
            Some((1, 97))
        );
        assert_eq!(minor("clang version 19"), None);
    }
}
