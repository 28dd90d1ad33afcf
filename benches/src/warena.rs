//! Warena under test, called directly: an arena for each round, a worker for each producer.

use std::ptr::NonNull;

use ::warena::{Arena, Config, Context, Worker};
use anyhow::{Result, anyhow, ensure};

use crate::heap::{Heap, Producer};

/// Who supplies the chunks of every arena. What one round gave back, the next takes.
#[cfg(not(target_family = "wasm"))]
mod source {
    use std::sync::OnceLock;

    use ::warena::MappedMemory;
    use anyhow::{Context, Result};

    /// Bytes of address space. Only what a round touches becomes memory.
    const RESERVED: u64 = 1 << 30;

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
pub struct Warena(Arena<source::Source>);

impl Warena {
    /// An arena with these settings.
    pub fn new(config: Config) -> Result<Self> {
        Ok(Self(Arena::create(
            source::source()?,
            config,
            Context::MayWait,
        )?))
    }
}

impl Heap for Warena {
    type Producer<'a> = Worker<'a, source::Source>;

    fn join(&self) -> Result<Self::Producer<'_>> {
        Ok(self.0.attach()?)
    }

    fn finish(self) -> Result<()> {
        let found = self.0.verify()?;
        ensure!(
            found.allocated_objects == 0 && found.cached_bytes == 0,
            "all producers left, and the arena has {} objects allocated and {:#x} bytes cached",
            found.allocated_objects,
            found.cached_bytes
        );
        // SAFETY: every worker borrowed `self` and is gone, this is the only handle, and no
        // object is allocated.
        unsafe { self.0.destroy() }
            .map_err(|_busy| anyhow!("cannot end the arena: its heap stays locked"))
    }
}

impl Producer for Worker<'_, source::Source> {
    #[inline(always)]
    fn alloc(&mut self, size: usize) -> Option<NonNull<u8>> {
        Worker::alloc(self, size).ok()
    }

    #[inline(always)]
    unsafe fn free(&mut self, object: NonNull<u8>, _size: usize) -> bool {
        Worker::free(self, object.as_ptr()).is_ok()
    }

    fn leave(self) -> Result<()> {
        self.detach()
            .map_err(|_busy| anyhow!("cannot detach a worker: the heap stays locked"))
    }
}
