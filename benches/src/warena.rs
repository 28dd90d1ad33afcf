//! Warena under test, called directly: an arena for each round, a worker for each producer.

use std::alloc::Layout;
use std::ptr::{self, NonNull};

use ::warena::{Arena, Config, Context, MAX_ORDER, Worker, order_of};
use anyhow::{Result, anyhow, ensure};

use crate::heap::{Heap, Producer};
use crate::sizes::ALIGN;

/// Who supplies the chunks of every arena. What one round gave back, the next takes.
#[cfg(not(target_family = "wasm"))]
mod source {
    use std::sync::OnceLock;

    use ::warena::MappedMemory;
    use anyhow::{Context, Result};

    /// Bytes of address space. Only what a round touches becomes memory.
    const RESERVED: u64 = 3 << 30;

    pub(super) type Source = &'static MappedMemory;

    pub(super) fn source() -> Result<Source> {
        static MEMORY: OnceLock<MappedMemory> = OnceLock::new();
        if let Some(memory) = MEMORY.get() {
            return Ok(memory);
        }
        let memory = MappedMemory::new(RESERVED)
            .with_context(|| format!("cannot reserve {RESERVED:#x} bytes of address space"))?;
        Ok(MEMORY.get_or_init(|| memory))
    }
}

#[cfg(target_family = "wasm")]
mod source {
    pub(super) type Source = ::warena::WasmMemory;

    pub(super) fn source() -> anyhow::Result<Source> {
        Ok(::warena::WasmMemory)
    }
}

/// An arena of its own.
pub struct Warena {
    arena: Arena<source::Source>,
    /// Objects that fill it from the start, and that nobody frees.
    filling: u64,
}

impl Warena {
    /// An arena with these settings.
    pub fn new(config: Config) -> Result<Self> {
        Ok(Self {
            arena: Arena::create(source::source()?, config, Context::MayWait)?,
            filling: 0,
        })
    }

    /// An arena with these settings and so many chunks, of which no block that could serve `size`
    /// bytes is free.
    pub fn full(config: Config, chunks: usize, size: usize) -> Result<Self> {
        let mut heap = Self::new(config)?;
        let more = chunks as u32 - 1;
        ensure!(
            heap.arena.grow(more)? == more,
            "no memory for {chunks} chunks"
        );
        let worker = heap.arena.attach()?;
        // Blocks of every size, the largest first, each cut into objects.
        for n_order in (0..=MAX_ORDER - order_of(size as u32)).rev() {
            let mut objects = vec![ptr::null_mut(); 1 << n_order];
            while worker
                .alloc_bulk_nogrow(size, n_order, &mut objects)
                .is_ok()
            {
                heap.filling += objects.len() as u64;
            }
        }
        worker
            .detach()
            .map_err(|_busy| anyhow!("cannot detach a worker: the heap stays locked"))?;
        Ok(heap)
    }
}

impl Heap for Warena {
    type Producer<'a> = Worker<'a, source::Source>;

    fn join(&self) -> Result<Self::Producer<'_>> {
        Ok(self.arena.attach()?)
    }

    fn peak_grown(&self) -> Option<u64> {
        Some(self.arena.stats().peak_owned_bytes)
    }

    fn finish(self) -> Result<()> {
        let found = self.arena.verify()?;
        ensure!(
            found.allocated_objects == self.filling && found.cached_bytes == 0,
            "all producers left, and the arena has {} objects allocated, of which {} filled it from \
             the start, and {:#x} bytes cached",
            found.allocated_objects,
            self.filling,
            found.cached_bytes
        );
        // SAFETY: every worker borrowed `self` and is gone, this is the only handle, and no object
        // is allocated but those that nobody knows any more.
        unsafe { self.arena.destroy() }
            .map_err(|_busy| anyhow!("cannot end the arena: its heap stays locked"))
    }
}

impl Producer for Worker<'_, source::Source> {
    #[inline(always)]
    fn alloc(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        if layout.align() > ALIGN {
            return self.alloc_aligned(layout.size(), layout.align()).ok();
        }
        Worker::alloc(self, layout.size()).ok()
    }

    #[inline(always)]
    fn alloc_zeroed(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        debug_assert!(layout.align() <= ALIGN, "no workload asks for that");
        Worker::alloc_zeroed(self, layout.size()).ok()
    }

    #[inline(always)]
    unsafe fn realloc(
        &mut self,
        object: NonNull<u8>,
        layout: Layout,
        size: usize,
    ) -> Option<NonNull<u8>> {
        debug_assert!(layout.align() <= ALIGN, "no workload asks for that");
        Worker::realloc(self, object.as_ptr(), size).ok()
    }

    #[inline(always)]
    unsafe fn free(&mut self, object: NonNull<u8>, _layout: Layout) -> bool {
        Worker::free(self, object.as_ptr()).is_ok()
    }

    fn leave(self) -> Result<()> {
        self.detach()
            .map_err(|_busy| anyhow!("cannot detach a worker: the heap stays locked"))
    }
}
