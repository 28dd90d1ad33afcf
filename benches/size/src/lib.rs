//! The least module that allocates: what it weighs more with one `#[global_allocator]` than with
//! another is what that allocator weighs. `cargo xtask bench size` builds it with each.
//!
//! It calls the allocator as collections do, and takes failure as an answer: a message about that
//! would format text, and so be the larger part of the module, whatever the allocator.

use std::alloc::{Layout, alloc, dealloc, realloc};
use std::ptr;

/// The heap that never has memory.
#[cfg(feature = "null")]
mod null {
    use std::alloc::{GlobalAlloc, Layout};
    use std::ptr;

    struct Null;

    // SAFETY: nothing is ever handed out.
    unsafe impl GlobalAlloc for Null {
        unsafe fn alloc(&self, _: Layout) -> *mut u8 {
            ptr::null_mut()
        }

        unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}

        unsafe fn realloc(&self, _: *mut u8, _: Layout, _: usize) -> *mut u8 {
            ptr::null_mut()
        }
    }

    #[global_allocator]
    static HEAP: Null = Null;
}

#[cfg(feature = "warena")]
#[global_allocator]
static HEAP: warena::Global = warena::Global::new();

/// An object of `size` words, at least 1, in place of the one of `old` words at `object`, which an `old`
/// of 0 says there is none of; null, and the old one kept, where there is no memory.
///
/// # Safety
///
/// Such an object is there, from an earlier call, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn resized(object: *mut u8, old: usize, size: usize) -> *mut u8 {
    let (Ok(before), Ok(after)) = (Layout::array::<u64>(old), Layout::array::<u64>(size)) else {
        return ptr::null_mut();
    };
    // SAFETY: the caller's object has that layout, and the size is not 0.
    unsafe {
        if old == 0 {
            alloc(after)
        } else {
            realloc(object, before, after.size())
        }
    }
}

/// Frees the object of `size` words at `object`.
///
/// # Safety
///
/// As [`resized`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn freed(object: *mut u8, size: usize) {
    if let Ok(layout) = Layout::array::<u64>(size) {
        // SAFETY: the caller's object has that layout.
        unsafe { dealloc(object, layout) };
    }
}
