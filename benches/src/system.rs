//! What the platform comes with: natively the C library's malloc, in WebAssembly the dlmalloc of
//! Rust's standard library behind its spin lock. Neither can be asked what is still allocated.

use std::alloc::{GlobalAlloc, Layout, System as Standard};
use std::ptr::NonNull;

use anyhow::Result;

use crate::heap::{Heap, Producer};

/// The name of what [`System`] is on this host.
pub const NAME: &str = if cfg!(target_family = "wasm") {
    "dlmalloc"
} else {
    "system"
};

/// What every object is aligned to.
const ALIGN: usize = 16;

/// The standard library's `System`.
pub struct System;

impl Heap for System {
    type Producer<'a> = System;

    fn join(&self) -> Result<System> {
        Ok(System)
    }

    fn finish(self) -> Result<()> {
        Ok(())
    }
}

impl Producer for System {
    #[inline(always)]
    fn alloc(&mut self, size: usize) -> Option<NonNull<u8>> {
        let layout = Layout::from_size_align(size.max(1), ALIGN).ok()?;
        // SAFETY: the size is not 0.
        NonNull::new(unsafe { Standard.alloc(layout) })
    }

    #[inline(always)]
    unsafe fn free(&mut self, object: NonNull<u8>, size: usize) -> bool {
        let Ok(layout) = Layout::from_size_align(size.max(1), ALIGN) else {
            return false;
        };
        // SAFETY: the caller passes the size of the allocation; the layout follows from it.
        unsafe { Standard.dealloc(object.as_ptr(), layout) };
        true
    }

    fn leave(self) -> Result<()> {
        Ok(())
    }
}
