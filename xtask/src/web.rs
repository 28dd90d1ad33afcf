//! `cargo xtask web`: builds the package and serves the page, with the headers that isolate it.
//!
//! Vite is run by `web/serve.mjs`, which ends when the pipe to it closes. The URL is printed when
//! the server has answered with those headers.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::machine::Machine;
use crate::process::{command, find};
use crate::{npm, pack, workspace};

/// Where the search for a free port starts when none is named.
const FIRST_PORT: u16 = 5180;
/// How long the server may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it may take to end by itself before it is killed.
const GRACE: Duration = Duration::from_secs(1);

/// What the command line asks for.
#[derive(Default)]
pub struct Options {
    /// The port; the first free one from 5180 when none is named.
    pub port: Option<u16>,
    /// Do not open a browser.
    pub no_open: bool,
}

/// Serves the page until the user ends it.
pub fn web(machine: &Machine, options: &Options) -> Result<()> {
    pack::pack(machine)?.install_in_web()?;
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&ended))
            .context("cannot listen for signals")?;
    }
    let port = free_port(options.port)?;
    let mut server = Server::start(port)?;
    if !server.wait_until_it_answers(&ended)? {
        return Ok(());
    }
    let url = format!("http://127.0.0.1:{port}/");
    println!("{url}");
    println!("(Ctrl-C ends it)");
    if !options.no_open {
        open(&url);
    }
    while !ended.load(Ordering::Relaxed) {
        if let Some(status) = server.child.try_wait()? {
            // Ctrl-C reaches the whole process group: the server may be gone before the flag is seen.
            if ended.load(Ordering::Relaxed) {
                break;
            }
            bail!("the server ended by itself ({status})");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// The development server; ended when dropped.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(port: u16) -> Result<Self> {
        let mut vite = npm::node(workspace::root().join("xtask/src/web/serve.mjs"));
        vite.arg(workspace::web()).arg(port.to_string());
        vite.current_dir(workspace::web()).stdin(Stdio::piped());
        let child = vite.spawn().context("cannot start node")?;
        Ok(Self { child, port })
    }

    /// Waits for an isolated page; `false` when the user ended the wait.
    fn wait_until_it_answers(&mut self, ended: &AtomicBool) -> Result<bool> {
        let start = Instant::now();
        while !ended.load(Ordering::Relaxed) {
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended before it answered ({status})");
            }
            if let Ok(head) = self.fetch() {
                let head = head.to_lowercase();
                if !head.contains("cross-origin-opener-policy: same-origin")
                    || !head.contains("cross-origin-embedder-policy: ")
                {
                    bail!(
                        "the server sends no isolation headers; web/vite.config.ts must:\n{head}"
                    );
                }
                return Ok(true);
            }
            if start.elapsed() > PATIENCE {
                bail!("the server did not answer within {} s", PATIENCE.as_secs());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(false)
    }

    /// The head of the answer to a request for the page; an error until it is 200.
    fn fetch(&self) -> Result<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        write!(
            stream,
            "GET / HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAccept: text/html\r\nConnection: close\r\n\r\n",
            self.port
        )?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let text = String::from_utf8_lossy(&answer).into_owned();
        let head = text.split("\r\n\r\n").next().unwrap_or_default();
        if !head.starts_with("HTTP/1.1 200") {
            bail!("not served yet");
        }
        Ok(head.to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let start = Instant::now();
        while start.elapsed() < GRACE {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        // It did not take the hint. Failing to kill means that it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The named port, or the first free one.
fn free_port(named: Option<u16>) -> Result<u16> {
    let free = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    match named {
        Some(port) if free(port) => Ok(port),
        Some(port) => bail!("port {port} is taken: name another, or none for the first free one"),
        None => (FIRST_PORT..FIRST_PORT + 100)
            .find(|port| free(*port))
            .with_context(|| format!("no free port from {FIRST_PORT} on: name one with --port")),
    }
}

/// Opens the user's browser, where there is one to open.
fn open(url: &str) {
    let display = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some());
    let mut opener: Command = match std::env::consts::OS {
        "macos" => command("open", &[url]),
        "windows" => command("explorer", &[url]),
        _ if display && find("xdg-open").is_some() => command("xdg-open", &[url]),
        _ => return,
    };
    if let Err(error) = opener.stdout(Stdio::null()).stderr(Stdio::null()).spawn() {
        println!("(no browser could be opened: {error})");
    }
}
