//! What a heap must offer to be measured: the calls of a producer, and a proof at the end.

use std::alloc::Layout;
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

    /// The most bytes that it has had from the platform so far, where it can tell.
    fn peak_grown(&self) -> Option<u64>;

    /// Ends the heap after all its producers have left, and proves as well as the heap can that
    /// it is in order and that nothing is allocated any more.
    fn finish(self) -> Result<()>;
}

/// What one producer calls. All calls are to be inlined as far as a program would have them
/// inlined. Layouts are never of size 0.
pub trait Producer {
    /// An object of this layout; `None` when there is no memory.
    fn alloc(&mut self, layout: Layout) -> Option<NonNull<u8>>;

    /// An object of this layout, all zero.
    #[inline(always)]
    fn alloc_zeroed(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        let object = self.alloc(layout)?;
        // SAFETY: a fresh object of that many bytes.
        unsafe { object.write_bytes(0, layout.size()) };
        Some(object)
    }

    /// Makes an object one of `size` bytes, with its content; `None`, and the object is as it was,
    /// when there is no memory.
    ///
    /// # Safety
    ///
    /// As for `free`, if the call succeeds.
    #[inline(always)]
    unsafe fn realloc(
        &mut self,
        object: NonNull<u8>,
        layout: Layout,
        size: usize,
    ) -> Option<NonNull<u8>> {
        let moved = self.alloc(Layout::from_size_align(size, layout.align()).ok()?)?;
        // SAFETY: both objects have that many bytes. They overlap only if the heap is wrong, which
        // is for the workload to find out.
        unsafe { moved.copy_from(object, layout.size().min(size)) };
        // SAFETY: the caller's promise. An object that is refused is found by `finish`, or was
        // the heap's own mistake.
        unsafe { self.free(object, layout) }.then_some(moved)
    }

    /// Frees an object; `false` when the heap refused.
    ///
    /// # Safety
    ///
    /// The object came from any producer of the same heap with this layout, is allocated, and is
    /// not used again.
    unsafe fn free(&mut self, object: NonNull<u8>, layout: Layout) -> bool;

    /// Gives the seat up, with everything that the producer kept for itself.
    fn leave(self) -> Result<()>;
}
