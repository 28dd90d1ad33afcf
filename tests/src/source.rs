//! Chunk sources that tests look into: one that counts, one whose growth can be held up.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use warena::{Arena, ChunkRun, ChunkSource, MappedMemory, Memory};

/// Mapped memory that counts what is taken and given back, and can be told to refuse.
pub struct CountedSource {
    mapped: MappedMemory,
    acquired: AtomicU32,
    released: AtomicU32,
    refused: AtomicU32,
    closed: AtomicBool,
}

impl CountedSource {
    /// A memory of `bytes`, whose first chunk is never handed out.
    pub fn new(bytes: u64) -> Self {
        Self {
            mapped: MappedMemory::new(bytes).expect("address space"),
            acquired: AtomicU32::new(0),
            released: AtomicU32::new(0),
            refused: AtomicU32::new(0),
            closed: AtomicBool::new(false),
        }
    }

    /// Chunks handed out so far.
    pub fn acquired(&self) -> u32 {
        self.acquired.load(SeqCst)
    }

    /// Chunks handed out and not given back.
    pub fn held(&self) -> u32 {
        self.acquired() - self.released.load(SeqCst)
    }

    /// Requests that found the memory at its maximum.
    pub fn refused(&self) -> u32 {
        self.refused.load(SeqCst)
    }

    /// From now on there is no more memory (`true`), or there is again.
    pub fn close(&self, closed: bool) {
        self.closed.store(closed, SeqCst);
    }
}

// SAFETY: every chunk comes from the mapped memory and goes back there.
unsafe impl ChunkSource for CountedSource {
    fn memory(&self) -> Memory {
        self.mapped.memory()
    }

    fn acquire(&self, count: u32, claimant: u32) -> Option<ChunkRun> {
        let open = !self.closed.load(SeqCst);
        let chunk = open.then(|| self.mapped.acquire(count, claimant)).flatten();
        match chunk {
            Some(_) => self.acquired.fetch_add(count, SeqCst),
            None => self.refused.fetch_add(1, SeqCst),
        };
        chunk
    }

    unsafe fn release(&self, chunk: u32, count: u32) {
        self.released.fetch_add(count, SeqCst);
        // SAFETY: the caller's promise, passed on.
        unsafe { self.mapped.release(chunk, count) }
    }

    unsafe fn reclaim(&self, claimant: u32, uses: impl Fn(u32) -> bool) -> u32 {
        // SAFETY: the caller's promise, passed on.
        let reclaimed = unsafe { self.mapped.reclaim(claimant, uses) };
        self.released.fetch_add(reclaimed, SeqCst);
        reclaimed
    }
}

/// Mapped memory whose growth waits while the gate is shut. The heap grows under its lock, so a
/// worker that waits here holds that lock for as long as a test wants.
pub struct GatedSource {
    mapped: MappedMemory,
    shut: AtomicBool,
    waiting: AtomicBool,
}

impl GatedSource {
    /// A memory of `bytes` with an open gate.
    pub fn new(bytes: u64) -> Self {
        Self {
            mapped: MappedMemory::new(bytes).expect("address space"),
            shut: AtomicBool::new(false),
            waiting: AtomicBool::new(false),
        }
    }

    /// Holds up whoever grows next, until the returned value is dropped: a test that fails
    /// meanwhile must not leave others waiting for ever.
    pub fn shut(&self) -> impl Drop + '_ {
        self.shut.store(true, SeqCst);
        Shut(self)
    }

    /// Runs `test` while another agent holds the heap lock of `arena`, in the middle of growing it
    /// by the one chunk that it then has more.
    pub fn while_locked(&self, arena: &Arena<&Self>, test: impl FnOnce()) {
        std::thread::scope(|scope| {
            let gate = self.shut();
            let holder = scope.spawn(|| arena.grow(1));
            self.wait_for_holder();
            test();
            drop(gate);
            assert_eq!(holder.join().expect("growing does not panic"), Ok(1));
        });
    }

    /// Waits until somebody is held up.
    pub fn wait_for_holder(&self) {
        while !self.waiting.load(SeqCst) {
            std::thread::yield_now();
        }
    }
}

/// The gate while it is shut.
struct Shut<'a>(&'a GatedSource);

impl Drop for Shut<'_> {
    fn drop(&mut self) {
        self.0.shut.store(false, SeqCst);
    }
}

// SAFETY: every chunk comes from the mapped memory and goes back there.
unsafe impl ChunkSource for GatedSource {
    fn memory(&self) -> Memory {
        self.mapped.memory()
    }

    fn acquire(&self, count: u32, claimant: u32) -> Option<ChunkRun> {
        while self.shut.load(SeqCst) {
            self.waiting.store(true, SeqCst);
            std::thread::yield_now();
        }
        self.waiting.store(false, SeqCst);
        self.mapped.acquire(count, claimant)
    }

    unsafe fn release(&self, chunk: u32, count: u32) {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.mapped.release(chunk, count) }
    }

    unsafe fn reclaim(&self, claimant: u32, uses: impl Fn(u32) -> bool) -> u32 {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.mapped.reclaim(claimant, uses) }
    }
}
