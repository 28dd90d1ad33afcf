//! A record: the rows of a run, with the day and the machine that they come from. Files of them are
//! kept in `benches/record/`, one a host and day, and what is published is made from them.

use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::row::{self, Row};

/// What must be known of a run besides its rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The day, `2026-11-30`.
    pub date: String,
    /// Where it ran: `native`, `node`, `chrome`.
    pub host: String,
    /// The processor's name.
    pub processor: String,
    /// How many of them.
    pub cores: usize,
    /// Bytes of the machine's memory.
    pub memory: u64,
    /// The operating system.
    pub system: String,
    /// What ran the code: an engine's version, or nothing natively.
    pub engine: String,
    /// What compiled it.
    pub compiler: String,
    /// The commit that was measured.
    pub commit: String,
    /// The flags of the run.
    pub flags: String,
}

/// A run that is kept.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Record {
    /// Where it comes from.
    #[serde(flatten)]
    pub origin: Origin,
    /// What was measured.
    pub rows: Vec<Row>,
}

impl Record {
    /// Reads a file of one.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is no record", path.display()))
    }

    /// The text of its file: one line for where it comes from, and one for each row.
    pub fn text(&self) -> Result<String> {
        let origin = serde_json::to_string(&self.origin)?;
        let head = origin.trim_end_matches('}');
        let rows = row::json(&self.rows)?;
        Ok(format!("{head}, \"rows\": {}}}\n", rows.trim_end()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let record = Record {
            origin: Origin {
                date: "2026-01-02".to_owned(),
                host: "node".to_owned(),
                processor: "a \"fast\" one}".to_owned(),
                cores: 2,
                memory: 1 << 34,
                system: "Linux".to_owned(),
                engine: "Node".to_owned(),
                compiler: "rustc".to_owned(),
                commit: "abc".to_owned(),
                flags: String::new(),
            },
            rows: vec![Row::default(), Row::default()],
        };
        let text = record.text().unwrap();
        assert_eq!(text.lines().count(), 4, "{text}");
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
    }
}
