//! Where the project's files are, and the versions that its manifest pins.
//!
//! Every version has one home. Crates and the tools that cargo installs are pinned in the root
//! `Cargo.toml` (`[workspace.dependencies]`, `[workspace.metadata.tools]`), tools from npm in
//! `web/package.json`; this file only reads the former.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The repository's top folder.
pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_path_buf()
}

/// The folder that holds the page and every npm development tool.
pub fn web() -> PathBuf {
    root().join("web")
}

/// The folder for everything that is built: `CARGO_TARGET_DIR` when set, else `target`.
pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

/// The versions pinned in the root manifest.
pub struct Pins(toml::Table);

impl Pins {
    /// Reads the root `Cargo.toml`.
    pub fn read() -> Result<Self> {
        let path = root().join("Cargo.toml");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let manifest = text
            .parse()
            .with_context(|| format!("{} is no valid TOML", path.display()))?;
        Ok(Self(manifest))
    }

    /// The exact version of a crate in `[workspace.dependencies]`, written `"=1.2.3"` there.
    pub fn exact(&self, name: &str) -> Result<String> {
        let version = self.string(&["workspace", "dependencies", name])?;
        let exact = version.strip_prefix('=').with_context(|| {
            format!("Cargo.toml must pin {name} exactly (\"=1.2.3\"), but says \"{version}\"")
        })?;
        Ok(exact.to_owned())
    }

    /// The version of a tool in `[workspace.metadata.tools]`.
    pub fn tool(&self, name: &str) -> Result<String> {
        self.string(&["workspace", "metadata", "tools", name])
    }

    /// The version that all packages of the workspace carry.
    pub fn package(&self) -> Result<String> {
        self.string(&["workspace", "package", "version"])
    }

    fn string(&self, path: &[&str]) -> Result<String> {
        let (first, rest) = path.split_first().context("empty path")?;
        let value = rest.iter().fold(self.0.get(*first), |value, key| {
            value.and_then(|v| v.get(key))
        });
        let text = value.and_then(toml::Value::as_str);
        Ok(text
            .with_context(|| format!("Cargo.toml has no {}", path.join(".")))?
            .to_owned())
    }
}

/// Copies a folder's files, and those of its folders.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    let read =
        std::fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))?;
    for entry in read {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), &target)
                .with_context(|| format!("cannot copy {}", entry.path().display()))?;
        }
    }
    Ok(())
}
