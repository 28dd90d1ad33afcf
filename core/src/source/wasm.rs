//! The linear memory of this module, grown by `memory.grow`.

use super::page_source::{PageSource, Pages};
use super::{ChunkRun, ChunkSource};
use crate::memory::Memory;

/// The module's own linear memory. All values of this type are the same source: the pages they
/// were given and do not use are kept in the module's static memory, which all its instances on
/// one shared memory have in common.
#[derive(Clone, Copy, Debug, Default)]
pub struct WasmMemory;

struct Linear;

static SOURCE: PageSource<Linear> = PageSource::new(Linear);

impl Pages for Linear {
    fn size(&self) -> u32 {
        core::arch::wasm32::memory_size::<0>() as u32
    }

    fn grow(&self, count: u32) -> Option<u32> {
        match core::arch::wasm32::memory_grow::<0>(count as usize) {
            usize::MAX => None,
            before => Some(before as u32),
        }
    }
}

// SAFETY: pages that `memory.grow` returns are zeroed and nobody else's; the page map hands each
// chunk of them to one caller at a time, and linear memory never shrinks.
unsafe impl ChunkSource for WasmMemory {
    fn memory(&self) -> Memory {
        Memory::LINEAR
    }

    fn acquire(&self, count: u32, claimant: u32) -> Option<ChunkRun> {
        SOURCE.acquire(count, claimant)
    }

    unsafe fn release(&self, chunk: u32, count: u32) {
        SOURCE.release(chunk, count);
    }

    unsafe fn reclaim(&self, claimant: u32, uses: impl Fn(u32) -> bool) -> u32 {
        SOURCE.reclaim(claimant, uses)
    }
}
