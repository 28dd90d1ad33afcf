//! One at a time: a lock file under `target/` for work that two runs in one tree must not mix.

use std::fs::File;

use anyhow::{Context, Result};

use crate::workspace;

/// Held while the work goes on; let go of when dropped, or when the process ends in any way.
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the work of this name to be free, saying so when it is not.
    pub fn take(name: &str) -> Result<Self> {
        let folder = workspace::target().join("locks");
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        let path = folder.join(name);
        let file =
            File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
        if file.try_lock().is_err() {
            println!("{name}: another one is at work in this tree; waiting for it");
            file.lock()
                .with_context(|| format!("cannot lock {}", path.display()))?;
        }
        Ok(Self { _file: file })
    }
}
