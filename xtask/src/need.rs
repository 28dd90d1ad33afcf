//! The things a command can need on the machine: whether each is there, and where it comes from.

use std::path::Path;

use anyhow::Result;

use crate::cargo_tool::CargoTool;
use crate::process::find;
use crate::toolchain::Toolchain;
use crate::workspace::Pins;
use crate::{apt, browser, npm, sanitizer};

/// One thing that a command needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A Rust toolchain with the standard library's source, and a linker for WebAssembly.
    Toolchain,
    /// Clippy of that toolchain: its own code paths are seen by no other.
    Clippy,
    /// A program that cargo builds.
    Cargo(CargoTool),
    /// Node and npm.
    Node,
    /// The npm packages of `web/`.
    Packages,
    /// Chromium.
    Chrome,
    /// Chromium's driver.
    Chromedriver,
    /// Firefox.
    Firefox,
    /// Clang 19 with its sanitizers' runtimes: Debian's Rust brings none of its own.
    Sanitizers,
    /// A nightly toolchain: libFuzzer's instrumentation is in no other.
    Nightly,
    /// A compiler of C++: the native peers of the benchmarks.
    CompilerOfCpp,
    /// Clang and a C library's headers for WebAssembly: a peer of the benchmarks.
    CompilerOfWasm,
}

/// One of wasi-libc's headers, where its Debian package has them.
const HEADERS: &str = "/usr/include/wasm32-wasi/stdlib.h";

/// What building and packing the JavaScript package takes.
pub const PACK: &[Need] = &[
    Need::Toolchain,
    Need::Node,
    Need::Packages,
    Need::Cargo(CargoTool::WasmBindgen),
    Need::Cargo(CargoTool::WasmPack),
];

/// What running Rust tests in Chromium takes.
pub const CHROME: &[Need] = &[
    Need::Toolchain,
    Need::Chrome,
    Need::Chromedriver,
    Need::Cargo(CargoTool::WasmBindgen),
];

/// What running Rust tests in Firefox takes.
pub const FIREFOX: &[Need] = &[
    Need::Toolchain,
    Need::Firefox,
    Need::Cargo(CargoTool::WasmBindgen),
    Need::Cargo(CargoTool::Geckodriver),
];

/// Whether a need is met.
pub enum State {
    /// It is there; what and where, for people.
    Present(String),
    /// It is not; what is wrong, and what mends that.
    Missing(String, Remedy),
}

/// How a missing thing is installed.
pub enum Remedy {
    /// Debian packages.
    Apt(&'static [&'static str]),
    /// A toolchain by rustup, with the standard library's source.
    Rustup {
        /// The toolchain's name, `nightly-2026-04-01`.
        toolchain: String,
    },
    /// `cargo install` into the tools' cache.
    Cargo(CargoTool),
    /// `npm ci` in `web/`.
    Npm,
    /// Nothing that this program can do; what the reader can.
    Manual(String),
}

impl Need {
    /// Looks whether the need is met.
    pub fn state(self, pins: &Pins) -> Result<State> {
        Ok(match self {
            Self::Toolchain => match Toolchain::find() {
                Some(toolchain) if toolchain.has_linker() => State::Present(format!(
                    "Rust for WebAssembly threads: {}",
                    toolchain.describe()
                )),
                Some(_) => State::Missing(
                    "a linker for WebAssembly (wasm-ld-19)".to_owned(),
                    packages_or(
                        &["lld-19"],
                        "install LLVM's lld 19, so that wasm-ld-19 is on the PATH",
                    ),
                ),
                None => State::Missing(
                    "a Rust toolchain with the standard library's source".to_owned(),
                    Toolchain::remedy(pins)?,
                ),
            },
            Self::Clippy => match Toolchain::find() {
                Some(toolchain) => match toolchain.clippy() {
                    Some(_) => State::Present("clippy for WebAssembly".to_owned()),
                    None => State::Missing(
                        "clippy for WebAssembly".to_owned(),
                        toolchain.clippy_remedy(),
                    ),
                },
                None => State::Missing(
                    "clippy for WebAssembly".to_owned(),
                    packages_or(&["rust-web-clippy"], "install a toolchain with clippy"),
                ),
            },
            Self::Cargo(tool) => {
                let title = format!("{} {}", tool.package(), tool.version(pins)?);
                match tool.folder(pins)? {
                    Some(folder) => State::Present(format!("{title} in {}", folder.display())),
                    None => State::Missing(title, Remedy::Cargo(tool)),
                }
            }
            Self::Node => match npm::find() {
                npm::Found::Fitting => State::Present("Node and npm".to_owned()),
                // Not Debian's package again: where that is the old one, it would stay so.
                npm::Found::Old(version) => State::Missing(
                    format!("Node 20 or later: the one on the PATH is {version}"),
                    Remedy::Manual("install Node 20 or later with npm (nodejs.org)".to_owned()),
                ),
                npm::Found::Nothing => State::Missing(
                    "Node 20 or later, with npm".to_owned(),
                    packages_or(&["nodejs", "npm"], "install Node 20 or later with npm"),
                ),
            },
            Self::Packages if npm::packages_present() => {
                State::Present("npm packages of web/".to_owned())
            }
            Self::Packages => State::Missing("npm packages of web/".to_owned(), Remedy::Npm),
            Self::Chrome => match browser::chrome() {
                Some(file) => State::Present(format!("Chromium: {}", file.display())),
                // Fonts are only recommended by the package, and without one a page has no text.
                None => State::Missing(
                    "Chromium".to_owned(),
                    packages_or(
                        &["chromium", "fonts-dejavu-core"],
                        "install Chromium or Chrome",
                    ),
                ),
            },
            Self::Chromedriver => match browser::chromedriver() {
                Some(file) => State::Present(format!("chromedriver: {}", file.display())),
                None => State::Missing(
                    "chromedriver of Chromium's version".to_owned(),
                    packages_or(
                        &["chromium", "chromium-driver"],
                        "install the chromedriver of your Chrome's major version, on the PATH",
                    ),
                ),
            },
            Self::Firefox => match browser::firefox() {
                Some(file) => State::Present(format!("Firefox: {}", file.display())),
                None => State::Missing(
                    "Firefox".to_owned(),
                    packages_or(&["firefox-esr", "fonts-dejavu-core"], "install Firefox"),
                ),
            },
            Self::Sanitizers => match find("clang-19") {
                Some(file) if sanitizer::has_runtime(&file) => {
                    State::Present(format!("sanitizers: {}", file.display()))
                }
                _ => State::Missing(
                    "clang 19 with its sanitizers".to_owned(),
                    packages_or(
                        &["clang-19", "libclang-rt-19-dev"],
                        "install clang 19 with compiler-rt, so that clang-19 is on the PATH",
                    ),
                ),
            },
            Self::CompilerOfCpp => match find("c++") {
                Some(file) => State::Present(format!("C++ compiler: {}", file.display())),
                None => State::Missing(
                    "a C++ compiler".to_owned(),
                    packages_or(&["g++"], "install a C++ compiler, on the PATH as c++"),
                ),
            },
            Self::CompilerOfWasm => match find("clang-19").or_else(|| find("clang")) {
                Some(file) if Path::new(HEADERS).is_file() => {
                    State::Present(format!("C compiler for WebAssembly: {}", file.display()))
                }
                _ => State::Missing(
                    "a C compiler for WebAssembly, with a C library's headers".to_owned(),
                    packages_or(
                        &["clang-19", "wasi-libc"],
                        "install clang, and wasi-libc's headers in /usr/include/wasm32-wasi",
                    ),
                ),
            },
            Self::Nightly => match Toolchain::nightly() {
                Some(name) => State::Present(format!("nightly Rust: {name}")),
                None => State::Missing(
                    "a nightly Rust toolchain".to_owned(),
                    Remedy::Manual("rustup toolchain install nightly".to_owned()),
                ),
            },
        })
    }
}

/// Debian's packages on Debian, else advice.
fn packages_or(packages: &'static [&'static str], advice: &str) -> Remedy {
    if apt::is_debian() {
        Remedy::Apt(packages)
    } else {
        Remedy::Manual(advice.to_owned())
    }
}
