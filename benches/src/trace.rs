//! Recorded allocations of real programs. `tests/traces/README.md` describes the format; the files
//! are part of the program, so that every host has them.

use std::io::Read;

use anyhow::{Context, Result, bail, ensure};
use flate2::read::GzDecoder;

/// The traces' names.
pub const TRACES: [&str; 4] = ["cc1", "sqlite", "python", "wasm-opt"];

const FILES: [&[u8]; 4] = [
    include_bytes!("../../tests/traces/cc1.wtrace.gz"),
    include_bytes!("../../tests/traces/sqlite.wtrace.gz"),
    include_bytes!("../../tests/traces/python.wtrace.gz"),
    include_bytes!("../../tests/traces/wasm-opt.wtrace.gz"),
];

const MAGIC: &[u8; 8] = b"WTRACE1\0";
const HEADER_BYTES: usize = 24;
const STEP_BYTES: usize = 12;

/// What a step does to its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Allocates so many bytes.
    Alloc(usize),
    /// Allocates so many bytes, zeroed.
    Zeroed(usize),
    /// Allocates so many bytes at a multiple of the second number.
    Aligned(usize, usize),
    /// Makes it one of so many bytes.
    Realloc(usize),
    /// Frees it.
    Free,
}

/// One step.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Which object; the number of a freed one is used again.
    pub id: usize,
    /// What happens to it.
    pub operation: Operation,
}

/// A whole trace.
pub struct Trace {
    /// Objects live at once, at most: ids are below this.
    pub ids: usize,
    /// Steps that allocate an object.
    pub allocations: usize,
    /// The steps in order.
    pub steps: Vec<Step>,
}

impl Trace {
    /// Reads one of [`TRACES`], by its position.
    pub fn read(index: usize) -> Result<Self> {
        let name = TRACES.get(index).context("there is no such trace")?;
        Self::unpack(FILES[index]).with_context(|| format!("in the trace {name}"))
    }

    fn unpack(packed: &[u8]) -> Result<Self> {
        let mut bytes = Vec::new();
        GzDecoder::new(packed).read_to_end(&mut bytes)?;
        ensure!(bytes.starts_with(MAGIC), "it begins with another magic");
        let word = |at: usize| -> Result<usize> {
            let word = bytes.get(at..at + 4).context("it is cut short")?;
            Ok(u32::from_le_bytes(word.try_into()?) as usize)
        };
        let count = word(8)?;
        let mut steps = Vec::with_capacity(count);
        let mut allocations = 0;
        for at in (HEADER_BYTES..bytes.len()).step_by(STEP_BYTES) {
            let (id, size) = (word(at)?, word(at + 4)?);
            word(at + 8)?;
            let operation = match bytes[at + 8] {
                0 => Operation::Alloc(size),
                1 => Operation::Free,
                2 => Operation::Realloc(size),
                3 => Operation::Zeroed(size),
                4 => Operation::Aligned(size, 1 << bytes[at + 10]),
                other => bail!("operation {other} at {at:#x}"),
            };
            allocations += usize::from(!matches!(
                operation,
                Operation::Free | Operation::Realloc(_)
            ));
            steps.push(Step { id, operation });
        }
        ensure!(
            steps.len() == count,
            "it has {} of {count} steps",
            steps.len()
        );
        Ok(Self {
            ids: word(12)?,
            allocations,
            steps,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trace_can_be_read() {
        for (index, name) in TRACES.iter().enumerate() {
            let trace = Trace::read(index).unwrap();
            assert!(trace.steps.len() > 30_000, "{name}");
            assert!(trace.steps.iter().all(|step| step.id < trace.ids), "{name}");
        }
    }

    #[test]
    fn what_is_no_trace_is_refused() {
        let mut packed = FILES[1].to_vec();
        packed.truncate(packed.len() / 2);
        assert!(Trace::unpack(&packed).is_err());
    }
}
