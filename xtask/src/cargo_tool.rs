//! Programs that cargo builds from their crates, in a cache that all clones of a user share.
//!
//! They live in `~/.cache/warena/tools/<name>-<version>` (or under `XDG_CACHE_HOME`), so a second
//! clone finds them built and the user's own `~/.cargo/bin` stays as it is. A program of the very
//! version that is already on the `PATH` serves as well.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::process::{ask, command, find};
use crate::step::Step;
use crate::workspace::Pins;

/// A crate that cargo installs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CargoTool {
    /// `wasm-bindgen` and `wasm-bindgen-test-runner`: must match the crate `wasm-bindgen` exactly.
    WasmBindgen,
    /// `wasm-pack`.
    WasmPack,
    /// `geckodriver`, which drives Firefox.
    Geckodriver,
    /// `cargo-fuzz`, which builds and runs the fuzz targets.
    Fuzz,
}

impl CargoTool {
    /// The crate's name.
    pub fn package(self) -> &'static str {
        match self {
            Self::WasmBindgen => "wasm-bindgen-cli",
            Self::WasmPack => "wasm-pack",
            Self::Geckodriver => "geckodriver",
            Self::Fuzz => "cargo-fuzz",
        }
    }

    /// The program that says its version.
    fn program(self) -> &'static str {
        match self {
            Self::WasmBindgen => "wasm-bindgen",
            Self::WasmPack => "wasm-pack",
            Self::Geckodriver => "geckodriver",
            Self::Fuzz => "cargo-fuzz",
        }
    }

    /// The version to use.
    pub fn version(self, pins: &Pins) -> Result<String> {
        match self {
            Self::WasmBindgen => pins.exact("wasm-bindgen"),
            Self::WasmPack | Self::Geckodriver | Self::Fuzz => pins.tool(self.package()),
        }
    }

    /// The folder of the tool's programs, when it is there in the right version.
    pub fn folder(self, pins: &Pins) -> Result<Option<PathBuf>> {
        let version = self.version(pins)?;
        let cached = self.cache(&version)?.join("bin");
        if cached.join(self.program()).is_file() {
            return Ok(Some(cached));
        }
        // "wasm-bindgen 0.2.130", "geckodriver 0.37.1 (…)": the second word is the version.
        let said = ask(&mut command(self.program(), &["--version"])).unwrap_or_default();
        if said.split_whitespace().nth(1) != Some(version.as_str()) {
            return Ok(None);
        }
        Ok(find(self.program()).and_then(|file| file.parent().map(PathBuf::from)))
    }

    /// The step that builds it.
    pub fn install(self, pins: &Pins) -> Result<Step> {
        let version = self.version(pins)?;
        let cache = self.cache(&version)?;
        std::fs::create_dir_all(&cache)
            .with_context(|| format!("cannot make {}", cache.display()))?;
        let package = format!("{}@{version}", self.package());
        let install = |locked: &[&str]| {
            let mut install = command("cargo", &["install", &package]);
            install.args(locked).arg("--root").arg(&cache);
            // From outside the project: its `.cargo/config.toml` and target folder stay out.
            install.current_dir(&cache).env_remove("CARGO_TARGET_DIR");
            // These run for moments: the time to build them is what a newcomer sees.
            install.env("CARGO_PROFILE_RELEASE_LTO", "off");
            install.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
            install.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
            install.env("CARGO_PROFILE_RELEASE_DEBUG", "0");
            install
        };
        let seconds = match self {
            Self::WasmBindgen => 70,
            Self::WasmPack => 80,
            Self::Geckodriver => 60,
            Self::Fuzz => 120,
        };
        Ok(Step {
            title: format!("{} {version}, built by cargo", self.package()),
            seconds,
            log: self.package().to_owned(),
            commands: vec![install(&["--locked"])],
            // A mirror that lags behind may lack a version that the tool's lock file names.
            otherwise: Some(install(&[])),
        })
    }

    fn cache(self, version: &str) -> Result<PathBuf> {
        let base = match std::env::var_os("XDG_CACHE_HOME").filter(|value| !value.is_empty()) {
            Some(folder) => PathBuf::from(folder),
            None => std::env::home_dir()
                .context("no home folder: set HOME, or XDG_CACHE_HOME to where tools may be kept")?
                .join(".cache"),
        };
        Ok(base
            .join("warena/tools")
            .join(format!("{}-{version}", self.package())))
    }
}
