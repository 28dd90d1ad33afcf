//! A lock for allocators that bring none: the one that the standard library puts around its
//! dlmalloc, which swaps until it was first and never waits.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// An allocator for one thread at a time. What it must promise, and may expect, is what
/// `GlobalAlloc` says.
pub trait Exclusive {
    /// As `GlobalAlloc::alloc`.
    ///
    /// # Safety
    ///
    /// As there.
    unsafe fn alloc(&mut self, layout: Layout) -> *mut u8;

    /// As `GlobalAlloc::realloc`.
    ///
    /// # Safety
    ///
    /// As there.
    unsafe fn realloc(&mut self, object: *mut u8, layout: Layout, size: usize) -> *mut u8;

    /// As `GlobalAlloc::dealloc`.
    ///
    /// # Safety
    ///
    /// As there.
    unsafe fn dealloc(&mut self, object: *mut u8, layout: Layout);

    /// Bytes that it has had from the memory.
    fn grown(&self) -> u64;
}

/// An allocator behind the lock.
pub struct Spin<T> {
    locked: AtomicBool,
    inner: UnsafeCell<T>,
}

// SAFETY: only `with` reaches what is inside, one thread at a time.
unsafe impl<T: Send> Sync for Spin<T> {}

impl<T: Exclusive> Spin<T> {
    /// Nobody has it.
    pub const fn new(inner: T) -> Self {
        Self {
            locked: AtomicBool::new(false),
            inner: UnsafeCell::new(inner),
        }
    }

    /// Bytes that it has had from the memory.
    pub fn grown(&self) -> u64 {
        self.with(|inner| inner.grown())
    }

    #[inline(always)]
    fn with<R>(&self, call: impl FnOnce(&mut T) -> R) -> R {
        while self.locked.swap(true, Ordering::Acquire) {
            core::hint::spin_loop();
        }
        // SAFETY: whoever swapped last found it unlocked, and unlocks it below. A panic ends
        // the whole program here.
        let result = call(unsafe { &mut *self.inner.get() });
        self.locked.store(false, Ordering::Release);
        result
    }
}

// SAFETY: what is inside is an allocator, and used by one thread at a time.
unsafe impl<T: Exclusive + Send> GlobalAlloc for Spin<T> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise, passed on; so below.
        self.with(|inner| unsafe { inner.alloc(layout) })
    }

    #[inline]
    unsafe fn realloc(&self, object: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        self.with(|inner| unsafe { inner.realloc(object, layout, size) })
    }

    #[inline]
    unsafe fn dealloc(&self, object: *mut u8, layout: Layout) {
        // SAFETY: as above.
        self.with(|inner| unsafe { inner.dealloc(object, layout) })
    }
}

/// Reallocation for allocators that have none: by moving.
///
/// # Safety
///
/// As `GlobalAlloc::realloc`.
pub unsafe fn moved(
    heap: &mut impl Exclusive,
    object: *mut u8,
    layout: Layout,
    size: usize,
) -> *mut u8 {
    // SAFETY: the caller promises that the layout is a possible one, and so is a like one.
    let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
    // SAFETY: the size is not 0.
    let moved = unsafe { heap.alloc(wanted) };
    if !moved.is_null() {
        // SAFETY: both objects have that many bytes, and the one is fresh.
        unsafe { moved.copy_from_nonoverlapping(object, layout.size().min(size)) };
        // SAFETY: the caller's object, known only by its new address from here on.
        unsafe { heap.dealloc(object, layout) };
    }
    moved
}
