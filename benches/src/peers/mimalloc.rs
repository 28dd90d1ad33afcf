//! mimalloc's C code in WebAssembly. `build.rs` compiles it from its crate's source, and `libc.c`
//! is all that it finds of a C library.
//!
//! What a C program's start-up code does, [`contender`] does: until then mimalloc takes itself to be
//! in a program that is still loading, has every page from the memory itself and loses it again.
//!
//! It keeps a heap for each thread, which the workers never leave: so there is one mimalloc for all
//! rounds, as there is one of a program.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::Once;

use crate::contender::Contender;
use crate::global::Global;
use crate::measure::round;

/// Its version's name.
const NAME: &str = if cfg!(feature = "mimalloc-v2") {
    "mimalloc-v2"
} else {
    "mimalloc-v3"
};

/// The one of this build.
pub fn contender() -> Contender<'static> {
    static START: Once = Once::new();
    // SAFETY: called once, before anything is allocated, by the thread that is its main thread
    // from then on: the coordinator, which stays to the end.
    START.call_once(|| unsafe { _mi_auto_process_init() });
    Contender::peer(NAME, |crew, cell, plan| {
        round(crew, Global::new(Mimalloc), cell, plan)
    })
}

/// The one heap.
struct Mimalloc;

unsafe extern "C" {
    fn mi_malloc_aligned(size: usize, alignment: usize) -> *mut u8;
    fn mi_zalloc_aligned(size: usize, alignment: usize) -> *mut u8;
    fn mi_realloc_aligned(object: *mut u8, size: usize, alignment: usize) -> *mut u8;
    fn mi_free(object: *mut u8);
    fn _mi_auto_process_init();
}

// SAFETY: an allocator, called as its crate calls it.
unsafe impl GlobalAlloc for Mimalloc {
    #[inline(always)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the functions of the C code, by their declarations in its header; so below.
        unsafe { mi_malloc_aligned(layout.size(), layout.align()) }
    }

    #[inline(always)]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { mi_zalloc_aligned(layout.size(), layout.align()) }
    }

    #[inline(always)]
    unsafe fn realloc(&self, object: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above, and the caller's promise.
        unsafe { mi_realloc_aligned(object, size, layout.align()) }
    }

    #[inline(always)]
    unsafe fn dealloc(&self, object: *mut u8, _layout: Layout) {
        // SAFETY: as above, and the caller's promise.
        unsafe { mi_free(object) }
    }
}
