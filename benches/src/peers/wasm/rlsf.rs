//! rlsf's core, two-level segregated fit, behind a spin lock: its own global allocator is not for
//! threads in WebAssembly. Its pages are continued where they can be, as its own source does.

use std::alloc::Layout;
use std::ptr::{self, NonNull};

use ::rlsf::{FlexSource, FlexTlsf};

use super::pages::{PAGE, Pages};
use super::spin::{Exclusive, Spin};

/// The heap, with the parameters of its crate's global allocator.
type Tlsf = FlexTlsf<Source, usize, usize, { usize::BITS as usize }, { usize::BITS as usize }>;

/// A fresh heap.
pub fn new() -> Spin<Tlsf> {
    Spin::new(Tlsf::new(Source(Pages::new())))
}

/// Where it has its memory from.
pub struct Source(Pages);

// SAFETY: pages are given to nobody else before they are dropped with the source.
unsafe impl FlexSource for Source {
    unsafe fn alloc(&mut self, min_size: usize) -> Option<NonNull<[u8]>> {
        let run = self.0.take(min_size, PAGE)?;
        let start = NonNull::new(run.start as *mut u8)?;
        Some(NonNull::slice_from_raw_parts(start, run.bytes))
    }

    unsafe fn realloc_inplace_grow(
        &mut self,
        ptr: NonNull<[u8]>,
        min_new_len: usize,
    ) -> Option<usize> {
        let end = ptr.cast::<u8>().addr().get() + ptr.len();
        let run = self.0.extend(end, min_new_len - ptr.len())?;
        Some(ptr.len() + run.bytes)
    }

    fn supports_realloc_inplace_grow(&self) -> bool {
        true
    }

    fn min_align(&self) -> usize {
        PAGE
    }
}

impl Exclusive for Tlsf {
    #[inline]
    unsafe fn alloc(&mut self, layout: Layout) -> *mut u8 {
        self.allocate(layout)
            .map_or(ptr::null_mut(), NonNull::as_ptr)
    }

    #[inline]
    unsafe fn realloc(&mut self, object: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises an object, which is not at null.
        let object = unsafe { NonNull::new_unchecked(object) };
        // SAFETY: the caller promises that the layout is a possible one, and so is a like one.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: the caller's promise, passed on.
        let moved = unsafe { self.reallocate(object, wanted) };
        moved.map_or(ptr::null_mut(), NonNull::as_ptr)
    }

    #[inline]
    unsafe fn dealloc(&mut self, object: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { self.deallocate(NonNull::new_unchecked(object), layout.align()) }
    }

    fn grown(&self) -> u64 {
        self.source_ref().0.bytes()
    }
}
