//! Warena as the program's `#[global_allocator]`, called as `Box` and `Vec` call it: by the functions
//! of `std::alloc` that the compiler leads there. The native program and the module that has the run
//! are such programs; what they measure of other heaps does not go through it.

use std::alloc::{self, GlobalAlloc, Layout};

use crate::cell::Bench;
use crate::contender::Contender;
use crate::global::Global;
use crate::measure::round;

/// Makes Warena the global allocator of the module that has the run. A module of mimalloc keeps
/// what the platform comes with: its memory has no other heap.
#[cfg(all(target_family = "wasm", not(feature = "mimalloc")))]
#[global_allocator]
static HEAP: ::warena::Global = ::warena::Global::new();

/// The front, if Warena is the allocator of this program: whoever calls this has allocated already.
pub fn contender() -> Option<Contender<'static>> {
    ::warena::Global::arena()?;
    Some(Contender {
        allocator: "warena".to_owned(),
        config: Some("full".to_owned()),
        front: Some("global".to_owned()),
        fits: |_, cell| matches!(cell.bench, Bench::Fronts | Bench::FrontsGrow),
        round: Box::new(|crew, cell, plan| round(crew, Global::new(Registered), cell, plan)),
    })
}

/// Whatever the program's allocator is.
struct Registered;

// SAFETY: an allocator, called as every collection calls it.
unsafe impl GlobalAlloc for Registered {
    #[inline(always)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise, passed on; so below.
        unsafe { alloc::alloc(layout) }
    }

    #[inline(always)]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { alloc::alloc_zeroed(layout) }
    }

    #[inline(always)]
    unsafe fn realloc(&self, object: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        unsafe { alloc::realloc(object, layout, size) }
    }

    #[inline(always)]
    unsafe fn dealloc(&self, object: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { alloc::dealloc(object, layout) }
    }
}
