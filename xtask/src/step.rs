//! One piece of set-up work that takes a while: a title, a rough time, the commands.
//!
//! A step prints a line when it starts, one every twenty seconds with the last thing its command
//! said, and one when it is done, with the seconds it took. Whole lines only, so that steps which
//! run side by side, and a log of CI, stay readable. The commands' own output goes to
//! `target/setup/<name>.log`; its tail is printed when one fails.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::{process, workspace};

/// How often a running step says that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(20);
/// Lines of the log to show when a step fails.
const TAIL_LINES: usize = 25;

/// Commands that are run one after the other under one title.
pub struct Step {
    /// What is done, for people: "wasm-pack 0.15.1, built by cargo".
    pub title: String,
    /// About how long it takes on two cores, in seconds.
    pub seconds: u64,
    /// The log file's name without extension.
    pub log: String,
    /// What to run.
    pub commands: Vec<Command>,
    /// Run when one of the commands fails, before the step counts as failed.
    pub otherwise: Option<Command>,
}

impl Step {
    /// Runs the commands; an error when one fails and there is no other way.
    pub fn run(self) -> Result<()> {
        let folder = workspace::target().join("setup");
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        let path = folder.join(format!("{}.log", self.log));
        let log =
            File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        let mut running = Running {
            title: self.title,
            start: Instant::now(),
            path,
            log,
        };
        println!("  > {} (about {})", running.title, duration(self.seconds));
        let result = self
            .commands
            .into_iter()
            .try_for_each(|command| running.command(command));
        match (result, self.otherwise) {
            (Err(_), Some(command)) => {
                println!(
                    "  . {}: that failed; trying `{}`",
                    running.title,
                    process::line(&command)
                );
                running.command(command)
            }
            (result, _) => result,
        }
        .inspect_err(|_| running.complain())?;
        println!("  + {} ({})", running.title, elapsed(running.start));
        Ok(())
    }
}

/// A step under way.
struct Running {
    title: String,
    start: Instant,
    path: PathBuf,
    log: File,
}

impl Running {
    /// Runs one command to its end, saying now and then that it is alive.
    fn command(&mut self, mut command: Command) -> Result<()> {
        let text = process::line(&command);
        let (out, err) = (self.log.try_clone()?, self.log.try_clone()?);
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start `{text}`"))?;
        let mut said = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if said.elapsed() >= HEARTBEAT {
                said = Instant::now();
                let last = tail(&self.path, 1).pop().unwrap_or_default();
                let last: String = last.trim().chars().take(80).collect();
                println!("  . {}: {} so far: {last}", self.title, elapsed(self.start));
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        if !status.success() {
            bail!(
                "`{text}` failed ({status}); all it said is in {}",
                self.path.display()
            );
        }
        Ok(())
    }

    /// Shows the end of the log of a step that failed.
    fn complain(&self) {
        eprintln!("  ! {}: failed after {}", self.title, elapsed(self.start));
        for line in tail(&self.path, TAIL_LINES) {
            eprintln!("    | {line}");
        }
    }
}

/// Seconds as people say them: "40 s", "2 min".
pub fn duration(seconds: u64) -> String {
    match seconds {
        0..90 => format!("{seconds} s"),
        _ => format!("{} min", seconds.div_ceil(60)),
    }
}

/// The time since `start` in seconds.
pub fn elapsed(start: Instant) -> String {
    format!("{:.1} s", start.elapsed().as_secs_f64())
}

/// The last lines of a log that are not blank. Programs redraw a line with carriage returns.
fn tail(log: &Path, lines: usize) -> Vec<String> {
    let bytes = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text
        .split(['\n', '\r'])
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    all[all.len().saturating_sub(lines)..]
        .iter()
        .map(|line| (*line).to_owned())
        .collect()
}
