//! Where chunks come from, the lowest layer: `memory.grow` on wasm, a reserved mapping natively.
//!
//! Both are a [`PageSource`]: something that grows by 64 KiB pages and says where the new ones
//! start, and a [`PageMap`] of the pages that it was given and no arena uses. Several arenas may
//! draw on one source, and what one gives back another takes.

mod page_map;
mod page_source;

#[cfg(not(target_family = "wasm"))]
mod mapped;
#[cfg(target_family = "wasm")]
mod wasm;

#[cfg(not(target_family = "wasm"))]
pub use mapped::MappedMemory;
#[cfg(target_family = "wasm")]
pub use wasm::WasmMemory;

use crate::memory::Memory;

/// Who supplies chunks to arenas.
///
/// # Safety
///
/// A chunk that `acquire` returns is 1 MiB of readable and writable memory at that address of
/// `memory()`, a multiple of 1 MiB and not 0, that nobody else uses until it is released; its
/// first 64 KiB are zero. It stays readable for as long as any value that uses the source.
pub unsafe trait ChunkSource: Sync {
    /// The memory that the chunks are part of.
    fn memory(&self) -> Memory;

    /// The address of one more chunk, or `None` when the memory is at its maximum. Does not
    /// wait. Takes memory that was released before it grows.
    fn acquire(&self) -> Option<u32>;

    /// Takes a chunk back.
    ///
    /// # Safety
    ///
    /// The chunk came from this source's `acquire`, nothing in it is used any more, and its
    /// first 64 KiB are zero again.
    unsafe fn release(&self, chunk: u32);
}

// SAFETY: a reference to a source is that source.
unsafe impl<S: ChunkSource> ChunkSource for &S {
    fn memory(&self) -> Memory {
        (**self).memory()
    }

    fn acquire(&self) -> Option<u32> {
        (**self).acquire()
    }

    unsafe fn release(&self, chunk: u32) {
        // SAFETY: the caller's promise, passed on.
        unsafe { (**self).release(chunk) }
    }
}
