//! A native memory: address space reserved once, and handed out chunk by chunk.
//!
//! The mapping comes from the `memmap2` crate, which knows every system's call for it. Pages
//! that nobody touched cost address space only, as in a wasm memory.

use super::page_source::{PageSource, Pages};
use super::{ChunkRun, ChunkSource};
use crate::memory::Memory;
use crate::order::CHUNK_BYTES;
use crate::sync::{AtomicU32, Ordering};
use core::ptr::NonNull;
use memmap2::{MmapMut, MmapOptions};

extern crate std;

const PAGE_BYTES: u64 = 1 << 16;

/// A memory of up to 4 GiB for native programs, tests and benchmarks.
pub struct MappedMemory {
    source: PageSource<Reserved>,
    memory: Memory,
    _mapping: MmapMut,
}

struct Reserved {
    size: AtomicU32,
    maximum: u32,
}

impl MappedMemory {
    /// Reserves `bytes` of address space, rounded down to whole chunks of 1 MiB: at most 4 GiB.
    /// The first chunk is never handed out, so that address 0 is nobody's.
    pub fn new(bytes: u64) -> std::io::Result<Self> {
        let pages = (bytes.min(1 << 32) / PAGE_BYTES) as u32 & !15;
        let reserve = u64::from(pages) * PAGE_BYTES + u64::from(CHUNK_BYTES);
        let mut mapping = MmapOptions::new()
            .len(reserve as usize)
            .no_reserve_swap()
            .map_anon()?;
        let start = mapping.as_mut_ptr();
        let base = start.wrapping_add(start.align_offset(CHUNK_BYTES as usize));
        // SAFETY: aligned just now; all addresses that the source hands out lie below `pages`,
        // and the mapping has that much behind `base` because it was made one chunk longer.
        let memory = unsafe { Memory::new(NonNull::new_unchecked(base)) };
        Ok(Self {
            source: PageSource::new(Reserved {
                size: AtomicU32::new(0),
                maximum: pages,
            }),
            memory,
            _mapping: mapping,
        })
    }
}

impl Pages for Reserved {
    fn size(&self) -> u32 {
        self.size.load(Ordering::Relaxed)
    }

    fn grow(&self, count: u32) -> Option<u32> {
        self.size
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |size| {
                size.checked_add(count)
                    .filter(|&grown| grown <= self.maximum)
            })
            .ok()
    }
}

// SAFETY: an anonymous mapping is zeroed and private to this value; `grow` hands each page out
// once, the page map each chunk to one caller at a time, and the mapping lives as long as `self`.
unsafe impl ChunkSource for MappedMemory {
    fn memory(&self) -> Memory {
        self.memory
    }

    fn acquire(&self, count: u32, claimant: u32) -> Option<ChunkRun> {
        self.source.acquire(count, claimant)
    }

    unsafe fn release(&self, chunk: u32, count: u32) {
        self.source.release(chunk, count);
    }

    unsafe fn reclaim(&self, claimant: u32, uses: impl Fn(u32) -> bool) -> u32 {
        self.source.reclaim(claimant, uses)
    }
}
