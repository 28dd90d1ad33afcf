//! Recorded allocations of real programs: the reader of `traces/*.wtrace.gz`, whose format
//! `traces/README.md` describes.

use flate2::read::GzDecoder;
use std::io::Read;
use std::path::Path;

/// The traces by name.
pub const TRACES: [&str; 4] = ["cc1", "sqlite", "python", "wasm-opt"];

const MAGIC: &[u8; 8] = b"WTRACE1\0";
const HEADER_BYTES: usize = 24;
const STEP_BYTES: usize = 12;

/// What a step of a trace does to its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Allocates so many bytes.
    Alloc(usize),
    /// Allocates so many bytes, zeroed.
    Zeroed(usize),
    /// Allocates so many bytes at a multiple of the second number.
    Aligned(usize, usize),
    /// Moves the object to one of so many bytes.
    Realloc(usize),
    /// Frees the object.
    Free,
}

/// One step.
#[derive(Clone, Copy, Debug)]
pub struct TraceStep {
    /// Which object; the number of a freed one is used again.
    pub id: usize,
    /// What happens to it.
    pub operation: Operation,
}

/// A whole trace.
pub struct Trace {
    /// Objects live at once, at most: ids are below this.
    pub ids: usize,
    /// Bytes asked for and live at once, at most.
    pub peak_bytes: usize,
    /// The steps in order.
    pub steps: Vec<TraceStep>,
}

impl Trace {
    /// Reads the trace of this name.
    pub fn read(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("traces")
            .join(format!("{name}.wtrace.gz"));
        let packed =
            std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut bytes = Vec::new();
        GzDecoder::new(&packed[..])
            .read_to_end(&mut bytes)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(
            &bytes[..MAGIC.len()],
            MAGIC,
            "{} is no trace",
            path.display()
        );
        let word = |at: usize| {
            let word = bytes[at..at + 4].try_into().expect("four bytes");
            u32::from_le_bytes(word) as usize
        };
        let steps: Vec<_> = (HEADER_BYTES..bytes.len())
            .step_by(STEP_BYTES)
            .map(|at| {
                let size = word(at + 4);
                let operation = match bytes[at + 8] {
                    0 => Operation::Alloc(size),
                    1 => Operation::Free,
                    2 => Operation::Realloc(size),
                    3 => Operation::Zeroed(size),
                    4 => Operation::Aligned(size, 1 << bytes[at + 10]),
                    other => panic!("{}: operation {other} at {at:#x}", path.display()),
                };
                TraceStep {
                    id: word(at),
                    operation,
                }
            })
            .collect();
        assert_eq!(steps.len(), word(8), "{} is cut short", path.display());
        Self {
            ids: word(12),
            peak_bytes: word(20),
            steps,
        }
    }
}
