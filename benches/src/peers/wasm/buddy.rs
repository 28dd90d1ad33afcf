//! buddy_system_allocator behind a spin lock. Somebody must give it memory: it gets pages of the
//! size that it lacks, aligned so that they are one block.

use std::alloc::Layout;
use std::ptr::{self, NonNull};

use buddy_system_allocator::Heap;

use super::pages::{PAGE, Pages};
use super::spin::{Exclusive, Spin, moved};

/// The heap and its pages.
pub struct Buddy {
    heap: Heap<32>,
    pages: Pages,
}

/// A fresh heap.
pub fn new() -> Spin<Buddy> {
    Spin::new(Buddy {
        heap: Heap::new(),
        pages: Pages::new(),
    })
}

impl Exclusive for Buddy {
    #[inline]
    unsafe fn alloc(&mut self, layout: Layout) -> *mut u8 {
        if let Ok(object) = self.heap.alloc(layout) {
            return object.as_ptr();
        }
        let block = layout.size().max(layout.align()).max(PAGE);
        let block = block.next_power_of_two();
        let Some(run) = self.pages.take(block, block) else {
            return ptr::null_mut();
        };
        // SAFETY: the pages are this heap's until it is dropped.
        unsafe { self.heap.init(run.start, run.bytes) };
        let object = self.heap.alloc(layout);
        object.map_or(ptr::null_mut(), NonNull::as_ptr)
    }

    unsafe fn realloc(&mut self, object: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise, passed on.
        unsafe { moved(self, object, layout, size) }
    }

    #[inline]
    unsafe fn dealloc(&mut self, object: *mut u8, layout: Layout) {
        // SAFETY: the caller promises an object of this layout, which is not at null.
        unsafe { self.heap.dealloc(NonNull::new_unchecked(object), layout) }
    }

    fn grown(&self) -> u64 {
        self.pages.bytes()
    }
}
