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

/// Chunks one after the other, just taken from a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkRun {
    /// Address of the first, a multiple of 1 MiB and not 0.
    pub address: u32,
    /// Whether every byte of all of them is known to be zero.
    pub zeroed: bool,
}

/// Who supplies chunks to arenas.
///
/// # Safety
///
/// Chunks that `acquire` returns are that many times 1 MiB of readable and writable memory at that
/// address of `memory()`, that nobody else uses until they are released, and zero if it says so.
/// They stay readable for as long as any value that uses the source.
pub unsafe trait ChunkSource: Sync {
    /// The memory that the chunks are part of.
    fn memory(&self) -> Memory;

    /// `count` more chunks in a row, or `None` when the memory has no room for them below its
    /// maximum. Does not wait. Takes memory that was released before it grows.
    ///
    /// `claimant` says for whom: the address of the first chunk of the arena; 0 asks for an arena's
    /// first chunk.
    fn acquire(&self, count: u32, claimant: u32) -> Option<ChunkRun>;

    /// Takes `count` chunks in a row back, with whatever is in them.
    ///
    /// # Safety
    ///
    /// The chunks came from this source's `acquire`, and nothing in them is used any more.
    unsafe fn release(&self, chunk: u32, count: u32);

    /// Takes back every chunk that was acquired for `claimant` and that `uses`, asked by the chunk's
    /// address, does not know; how many. So nothing is lost that an agent was taking or giving back
    /// when it ended.
    ///
    /// # Safety
    ///
    /// Nothing in such chunks is used, and nobody acquires or releases for that claimant meanwhile.
    unsafe fn reclaim(&self, claimant: u32, uses: impl Fn(u32) -> bool) -> u32;
}

// SAFETY: a reference to a source is that source.
unsafe impl<S: ChunkSource> ChunkSource for &S {
    fn memory(&self) -> Memory {
        (**self).memory()
    }

    fn acquire(&self, count: u32, claimant: u32) -> Option<ChunkRun> {
        (**self).acquire(count, claimant)
    }

    unsafe fn release(&self, chunk: u32, count: u32) {
        // SAFETY: the caller's promise, passed on.
        unsafe { (**self).release(chunk, count) }
    }

    unsafe fn reclaim(&self, claimant: u32, uses: impl Fn(u32) -> bool) -> u32 {
        // SAFETY: the caller's promise, passed on.
        unsafe { (**self).reclaim(claimant, uses) }
    }
}
