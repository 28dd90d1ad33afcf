//! dlmalloc from its crate, as the standard library has it, but with pages that are counted.

use std::alloc::Layout;
use std::cell::RefCell;
use std::ptr;

use ::dlmalloc::{Allocator, Dlmalloc};

use super::pages::{PAGE, Pages};
use super::spin::{Exclusive, Spin};

/// A fresh heap.
pub fn new() -> Spin<Dlmalloc<Source>> {
    Spin::new(Dlmalloc::new_with_allocator(Source::default()))
}

/// Where it has its memory from.
#[derive(Default)]
pub struct Source(RefCell<Pages>);

// SAFETY: pages are given to nobody else before they are dropped with the source.
unsafe impl Allocator for Source {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        match self.0.borrow_mut().take(size, PAGE) {
            Some(run) => (run.start as *mut u8, run.bytes, 0),
            None => (ptr::null_mut(), 0, 0),
        }
    }

    // The rest is as the crate has it for WebAssembly, where pages are never given back; only
    // that these may have been used before.

    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        ptr::null_mut()
    }

    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }

    fn free(&self, _: *mut u8, _: usize) -> bool {
        false
    }

    fn can_release_part(&self, _: u32) -> bool {
        false
    }

    fn allocates_zeros(&self) -> bool {
        false
    }

    fn page_size(&self) -> usize {
        PAGE
    }
}

impl Exclusive for Dlmalloc<Source> {
    #[inline]
    unsafe fn alloc(&mut self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise, passed on; so below.
        unsafe { self.malloc(layout.size(), layout.align()) }
    }

    #[inline]
    unsafe fn realloc(&mut self, object: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        unsafe { Dlmalloc::realloc(self, object, layout.size(), layout.align(), size) }
    }

    #[inline]
    unsafe fn dealloc(&mut self, object: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { self.free(object, layout.size(), layout.align()) }
    }

    fn grown(&self) -> u64 {
        self.allocator().0.borrow().bytes()
    }
}
