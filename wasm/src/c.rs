//! C's names for an arena: `malloc`, `free` and their kin, as WebAssembly exports that another module
//! on the same memory imports.
//!
//! C says no arena with a call, so each agent has one that serves it: the package names that seat
//! ([`serve_c`]). Pointers are the arena's like all others, whoever frees them. Where C's standard has a
//! word for failure, a null pointer, that is the answer; a pointer that cannot be freed is thrown as
//! an error, through the frames of the module that called, since going on would hide what was wrong.

use crate::answer::throw;
use crate::arena::worker;
use std::cell::Cell;
use std::fmt::Display;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use warena::{AllocError, Memory, ReallocError, WasmMemory, Worker};
use wasm_bindgen::prelude::*;

thread_local! {
    /// The seat that serves this agent; 0: none.
    static SEAT: Cell<u32> = const { Cell::new(0) };
}

/// Has C's names served from a seat: for this agent, until another one is named or the seat is given up.
///
/// # Safety
///
/// The seat was returned by [`attach`](crate::arena::attach) to this agent, and not given up
/// since.
#[wasm_bindgen]
pub unsafe fn serve_c(seat: u32) {
    SEAT.set(seat);
}

/// Has C's names served from a seat no more that was given up.
pub(crate) fn leave(seat: u32) {
    if SEAT.get() == seat {
        SEAT.set(0);
    }
}

/// The worker that serves this agent, if it named one.
#[inline(always)]
fn serving() -> Option<ManuallyDrop<Worker<'static, WasmMemory>>> {
    let seat = SEAT.get();
    // SAFETY: who named the seat promised that it is this agent's, and it is forgotten when given up.
    (seat != 0).then(|| unsafe { worker(seat) })
}

#[cold]
#[inline(never)]
fn refuse(name: &str, pointer: *mut u8, why: impl Display) -> ! {
    throw(format_args!("{name}({pointer:p}): {why}"))
}

/// What is thrown where an agent has no arena yet.
const NO_ARENA: &str = "no arena serves this agent; call cNames() of one first";

fn or_null(object: Option<Result<NonNull<u8>, AllocError>>) -> *mut u8 {
    match object {
        Some(Ok(object)) => object.as_ptr(),
        Some(Err(_)) | None => ptr::null_mut(),
    }
}

/// At least `size` bytes, a unit for a size of 0; null when there are none, or no arena serves this agent.
#[unsafe(export_name = "malloc")]
pub extern "C" fn malloc(size: usize) -> *mut u8 {
    or_null(serving().map(|worker| worker.alloc(size.max(1))))
}

/// [`malloc`] of `count` times `size` bytes that are all zero; null as well if that is beyond any memory.
#[unsafe(export_name = "calloc")]
pub extern "C" fn calloc(count: usize, size: usize) -> *mut u8 {
    let bytes = count.checked_mul(size);
    or_null(bytes.and_then(|bytes| Some(serving()?.alloc_zeroed(bytes.max(1)))))
}

/// [`malloc`] at a multiple of `alignment`; null as well if that is no power of two up to 1 MiB.
#[unsafe(export_name = "aligned_alloc")]
pub extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut u8 {
    or_null(serving().map(|worker| worker.alloc_aligned(size.max(1), alignment)))
}

/// Makes an object one of `size` bytes, 1 for a size of 0: null, and the object as it was, when there are
/// none. A null pointer allocates. Throws for a pointer that is no object.
#[unsafe(export_name = "realloc")]
pub extern "C" fn realloc(pointer: *mut u8, size: usize) -> *mut u8 {
    let Some(worker) = serving() else {
        return ptr::null_mut();
    };
    match worker.realloc(pointer, size.max(1)) {
        Ok(object) => object.as_ptr(),
        Err(ReallocError::Size(_)) => ptr::null_mut(),
        Err(ReallocError::Pointer(error)) => refuse("realloc", pointer, error),
    }
}

/// Frees an object, whoever allocated it; a null pointer is none. Throws for any other.
#[unsafe(export_name = "free")]
pub extern "C" fn free(pointer: *mut u8) {
    match serving() {
        Some(worker) => {
            if let Err(error) = worker.free(pointer) {
                refuse("free", pointer, error);
            }
        }
        None if pointer.is_null() => {}
        None => refuse("free", pointer, NO_ARENA),
    }
}

/// Bytes that an object has; 0 for a null pointer. Throws for any other that is no object.
#[unsafe(export_name = "malloc_usable_size")]
pub extern "C" fn malloc_usable_size(pointer: *mut u8) -> usize {
    if Memory::LINEAR.address(pointer) == Some(0) {
        return 0;
    }
    match serving().map(|worker| worker.usable_size(pointer)) {
        Some(Ok(bytes)) => bytes,
        Some(Err(error)) => refuse("malloc_usable_size", pointer, error),
        None => refuse("malloc_usable_size", pointer, NO_ARENA),
    }
}
