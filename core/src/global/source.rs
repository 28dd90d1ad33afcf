//! The memory that a program's heap is on: natively reserved at the first allocation, on wasm the
//! module's own.

use crate::arena::Arena;

/// Where the chunks come from.
#[cfg(target_family = "wasm")]
pub use crate::source::WasmMemory as Source;

/// Where the chunks come from.
#[cfg(not(target_family = "wasm"))]
pub use crate::source::MappedMemory as Source;

/// A handle on one of the program's arenas. On wasm the same type as that of any other arena, so
/// that a module has one copy of the code.
#[cfg(target_family = "wasm")]
pub type Handle = Arena<Source>;

/// A handle on one of the program's arenas.
#[cfg(not(target_family = "wasm"))]
pub type Handle = Arena<&'static Source>;

#[cfg(target_family = "wasm")]
mod memory {
    use super::Source;

    #[inline(always)]
    pub(in crate::global) fn made() -> Option<&'static Source> {
        Some(&Source)
    }

    pub(in crate::global) fn at_most(_: u64) -> Option<&'static Source> {
        made()
    }

    pub(in crate::global) fn handed(source: &'static Source) -> Source {
        *source
    }
}

#[cfg(not(target_family = "wasm"))]
mod memory {
    use super::Source;

    extern crate std;
    use std::sync::OnceLock;

    /// `None` where the system refused: it would refuse again. Reserving does not allocate, so the
    /// cell is not entered twice by one thread; and no thread dies in it alone.
    static MEMORY: OnceLock<Option<Source>> = OnceLock::new();

    /// The memory, once there is one.
    #[inline(always)]
    pub(in crate::global) fn made() -> Option<&'static Source> {
        MEMORY.get()?.as_ref()
    }

    /// The memory, of at most so many bytes if this is the first call.
    pub(in crate::global) fn at_most(bytes: u64) -> Option<&'static Source> {
        MEMORY.get_or_init(|| Source::new(bytes).ok()).as_ref()
    }

    /// The memory as a handle has it.
    pub(in crate::global) fn handed(source: &'static Source) -> &'static Source {
        source
    }
}

pub(super) use memory::{at_most, handed, made};
