//! What a heap must offer to be measured: the two calls of a producer, and a proof at the end.

use std::ptr::NonNull;

use anyhow::Result;

/// A heap under test, new for every round. Shared by its producers.
pub trait Heap: Sync {
    /// One producer's front of the heap: its cache, where the heap has such a thing.
    type Producer<'a>: Producer
    where
        Self: 'a;

    /// Takes a producer's seat. Called on the thread that will use it.
    fn join(&self) -> Result<Self::Producer<'_>>;

    /// Ends the heap after all its producers have left, and proves as well as the heap can that
    /// it is in order and that nothing is allocated any more.
    fn finish(self) -> Result<()>;
}

/// What one producer calls. Both calls are to be inlined as far as a program would have them
/// inlined.
pub trait Producer {
    /// An object of at least `size` bytes, aligned to 16; `None` when there is no memory.
    fn alloc(&mut self, size: usize) -> Option<NonNull<u8>>;

    /// Frees an object; `false` when the heap refused.
    ///
    /// # Safety
    ///
    /// The object came from an `alloc` of `size` bytes by any producer of the same heap, is
    /// allocated, and is not used again.
    unsafe fn free(&mut self, object: NonNull<u8>, size: usize) -> bool;

    /// Gives the seat up, with everything that the producer kept for itself.
    fn leave(self) -> Result<()>;
}
