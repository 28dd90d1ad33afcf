//! lol_alloc's free-list allocator behind its own lock. It grows the memory itself and cannot give
//! anything back, so there is one for all rounds.

use std::alloc::{GlobalAlloc, Layout};

use lol_alloc::{FreeListAllocator, LockedAllocator};

static HEAP: LockedAllocator<FreeListAllocator> = LockedAllocator::new(FreeListAllocator::new());

/// The one heap.
pub struct Shared;

// SAFETY: an allocator, called as it is.
unsafe impl GlobalAlloc for Shared {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise, passed on; so below.
        unsafe { HEAP.alloc(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, object: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { HEAP.dealloc(object, layout) }
    }
}
