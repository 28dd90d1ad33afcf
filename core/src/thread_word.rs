//! A thread-local word on wasm, where an agent may have no thread-local data.
//!
//! The compiler takes it that such data is always there, and so may read it before the check whether
//! it is; where there is none, that reads somebody else's memory or traps. It leaves a volatile access
//! where it stands.

use core::cell::Cell;

/// The word, for a `#[thread_local]` static.
pub(crate) struct ThreadWord(Cell<u32>);

impl ThreadWord {
    pub(crate) const fn new(value: u32) -> Self {
        Self(Cell::new(value))
    }

    /// The value, which only an agent with thread-local data may ask for.
    #[inline(always)]
    pub(crate) fn get(&self) -> u32 {
        // SAFETY: alive and aligned, being borrowed, and the calling agent's alone.
        unsafe { self.0.as_ptr().read_volatile() }
    }

    /// Replaces the value, for an agent with thread-local data.
    #[inline(always)]
    pub(crate) fn set(&self, value: u32) {
        // SAFETY: as above.
        unsafe { self.0.as_ptr().write_volatile(value) }
    }
}
