//! The machine once it is set up: the environment in which cargo, Node and the tools run.

use std::process::Command;

use anyhow::{Context, Result};

use crate::cargo_tool::CargoTool;
use crate::process::command;
use crate::toolchain::Toolchain;
use crate::workspace::Pins;
use crate::{npm, workspace};

/// What the commands know of the machine.
pub struct Machine {
    pins: Pins,
    toolchain: Option<Toolchain>,
}

impl Machine {
    /// Looks which toolchain there is; having none matters only to who builds WebAssembly.
    pub fn look(pins: Pins) -> Self {
        Self {
            pins,
            toolchain: Toolchain::find(),
        }
    }

    /// The versions that the project pins.
    pub fn pins(&self) -> &Pins {
        &self.pins
    }

    /// A command that builds or runs WebAssembly: toolchain, tools and npm programs in place.
    pub fn wasm(&self, program: &str, arguments: &[&str]) -> Result<Command> {
        let mut command = command(program, arguments);
        self.dress(&mut command)?;
        command.current_dir(workspace::root());
        Ok(command)
    }

    /// Clippy on WebAssembly, with the toolchain that builds it.
    pub fn clippy(&self, arguments: &[&str]) -> Result<Command> {
        let mut command = self.wasm("cargo", &["clippy"])?;
        let folder = self.toolchain.as_ref().and_then(Toolchain::clippy);
        let folder = folder.context("no clippy for WebAssembly: cargo xtask setup")?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
        command
            .env("PATH", std::env::join_paths(folders)?)
            .args(arguments);
        Ok(command)
    }

    /// The machine's own target triple.
    pub fn host(&self) -> Result<String> {
        let host = self.toolchain.as_ref().and_then(Toolchain::host);
        host.context("no toolchain with the standard library's source: cargo xtask setup")
    }

    /// Gives a command the environment in which WebAssembly is built.
    pub fn dress(&self, command: &mut Command) -> Result<()> {
        for (name, value) in self.environment()? {
            command.env(name, value);
        }
        Ok(())
    }

    /// The environment's variables, `PATH` included.
    fn environment(&self) -> Result<Vec<(String, String)>> {
        let toolchain = self
            .toolchain
            .as_ref()
            .context("no toolchain for WebAssembly: cargo xtask setup")?;
        let mut folders = Vec::from_iter(toolchain.programs());
        for tool in [
            CargoTool::WasmBindgen,
            CargoTool::WasmPack,
            CargoTool::Geckodriver,
        ] {
            folders.extend(tool.folder(&self.pins)?);
        }
        folders.push(npm::programs());
        let path = std::env::var_os("PATH").unwrap_or_default();
        folders.extend(std::env::split_paths(&path));
        let joined = std::env::join_paths(folders).context("a folder on the PATH has a colon")?;
        let mut variables = toolchain.environment();
        variables.push(("PATH".to_owned(), joined.to_string_lossy().into_owned()));
        Ok(variables)
    }
}
