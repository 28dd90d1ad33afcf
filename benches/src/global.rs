//! A heap that is used through Rust's `GlobalAlloc`: what the platform comes with, and every peer.
//! None of them is the program's global allocator.

use std::alloc::{GlobalAlloc, Layout};
use std::ptr::NonNull;

use anyhow::Result;

use crate::heap::{Heap, Producer};

/// The name of what the standard library's `System` is on this host: natively the C library's
/// malloc, in WebAssembly a dlmalloc behind a spin lock.
pub const SYSTEM: &str = if cfg!(target_family = "wasm") {
    "dlmalloc"
} else {
    "system"
};

/// A `GlobalAlloc`, and how to ask it for the bytes that it has had from the platform.
///
/// None of them can be asked what is still allocated: the workloads count that themselves.
pub struct Global<A> {
    allocator: A,
    grown: fn(&A) -> Option<u64>,
}

impl<A: GlobalAlloc + Sync> Global<A> {
    /// An allocator that cannot tell what it has had.
    pub fn new(allocator: A) -> Self {
        Self {
            allocator,
            grown: |_| None,
        }
    }

    /// An allocator that can, by `grown`.
    pub fn counted(allocator: A, grown: fn(&A) -> Option<u64>) -> Self {
        Self { allocator, grown }
    }
}

impl<A: GlobalAlloc + Sync> Heap for Global<A> {
    type Producer<'a>
        = &'a A
    where
        A: 'a;

    fn join(&self) -> Result<&A> {
        Ok(&self.allocator)
    }

    fn peak_grown(&self) -> Option<u64> {
        (self.grown)(&self.allocator)
    }

    fn finish(self) -> Result<()> {
        Ok(())
    }
}

impl<A: GlobalAlloc> Producer for &A {
    #[inline(always)]
    fn alloc(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        // SAFETY: the size is not 0, as the trait says.
        NonNull::new(unsafe { GlobalAlloc::alloc(*self, layout) })
    }

    #[inline(always)]
    fn alloc_zeroed(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        // SAFETY: as above.
        NonNull::new(unsafe { GlobalAlloc::alloc_zeroed(*self, layout) })
    }

    #[inline(always)]
    unsafe fn realloc(
        &mut self,
        object: NonNull<u8>,
        layout: Layout,
        size: usize,
    ) -> Option<NonNull<u8>> {
        // SAFETY: the caller's promise, passed on; sizes of workloads are neither 0 nor huge.
        NonNull::new(unsafe { GlobalAlloc::realloc(*self, object.as_ptr(), layout, size) })
    }

    #[inline(always)]
    unsafe fn free(&mut self, object: NonNull<u8>, layout: Layout) -> bool {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.dealloc(object.as_ptr(), layout) };
        true
    }

    fn leave(self) -> Result<()> {
        Ok(())
    }
}
