//! Calls on one object, integers only: what crosses the border all the time.
//!
//! A refused call says so in its result and leaves why in [`refusal`](crate::refusal), where the
//! package fetches it by a second call. So the good case costs no object and no string.

use crate::arena::worker;
use crate::refusal::{Left, done, leave};
use std::ptr::NonNull;
use warena::{Memory, UNIT_BYTES};
use wasm_bindgen::prelude::*;

const _: () = assert!(UNIT_BYTES > 1, "0 is never an object's address");

/// The address of an object, or 0 and the reason left behind.
fn answer(object: Result<NonNull<u8>, impl Into<Left>>) -> u32 {
    match object {
        Ok(object) => object.as_ptr() as u32,
        Err(error) => {
            leave(error);
            0
        }
    }
}

/// Allocates at least `bytes`; the object's address, or 0 when that was refused.
///
/// # Safety
///
/// The seat was returned by [`attach`](crate::arena::attach) to this agent, and not given up
/// since.
#[wasm_bindgen]
pub unsafe fn alloc(seat: u32, bytes: u32) -> u32 {
    // SAFETY: the caller promises its own attached seat.
    answer(unsafe { worker(seat) }.alloc(bytes as usize))
}

/// [`alloc`] of bytes that are all zero.
///
/// # Safety
///
/// As [`alloc`].
#[wasm_bindgen]
pub unsafe fn alloc_zeroed(seat: u32, bytes: u32) -> u32 {
    // SAFETY: the caller promises its own attached seat.
    answer(unsafe { worker(seat) }.alloc_zeroed(bytes as usize))
}

/// [`alloc`] at a multiple of `alignment`.
///
/// # Safety
///
/// As [`alloc`].
#[wasm_bindgen]
pub unsafe fn alloc_aligned(seat: u32, bytes: u32, alignment: u32) -> u32 {
    // SAFETY: the caller promises its own attached seat.
    answer(unsafe { worker(seat) }.alloc_aligned(bytes as usize, alignment as usize))
}

/// [`alloc`] in constant time, without growth.
///
/// # Safety
///
/// As [`alloc`].
#[wasm_bindgen]
pub unsafe fn alloc_nowait(seat: u32, bytes: u32) -> u32 {
    // SAFETY: the caller promises its own attached seat.
    answer(unsafe { worker(seat) }.alloc_nowait(bytes as usize))
}

/// [`alloc`] out of the memory that the arena has.
///
/// # Safety
///
/// As [`alloc`].
#[wasm_bindgen]
pub unsafe fn alloc_nogrow(seat: u32, bytes: u32) -> u32 {
    // SAFETY: the caller promises its own attached seat.
    answer(unsafe { worker(seat) }.alloc_nogrow(bytes as usize))
}

/// Makes an object one of at least `bytes`; where it is now, or 0 when that was refused. The
/// address 0 allocates. Any address at all may be given.
///
/// # Safety
///
/// As [`alloc`].
#[wasm_bindgen]
pub unsafe fn realloc_object(seat: u32, pointer: u32, bytes: u32) -> u32 {
    let pointer = Memory::LINEAR.pointer(pointer);
    // SAFETY: the caller promises its own attached seat; the core checks the pointer.
    answer(unsafe { worker(seat) }.realloc(pointer, bytes as usize))
}

/// Frees an object; whether that was done. Any address at all may be given.
///
/// # Safety
///
/// As [`alloc`].
#[wasm_bindgen]
pub unsafe fn free_object(seat: u32, pointer: u32) -> bool {
    // SAFETY: the caller promises its own attached seat; the core checks the pointer.
    done(unsafe { worker(seat) }.free(Memory::LINEAR.pointer(pointer)))
}

/// [`free_object`] in constant time.
///
/// # Safety
///
/// As [`alloc`].
#[wasm_bindgen]
pub unsafe fn free_nowait(seat: u32, pointer: u32) -> bool {
    // SAFETY: the caller promises its own attached seat; the core checks the pointer.
    done(unsafe { worker(seat) }.free_nowait(Memory::LINEAR.pointer(pointer)))
}

/// Whether an address lies in a chunk of the arena. Any address at all may be given.
///
/// # Safety
///
/// As [`alloc`].
#[wasm_bindgen]
pub unsafe fn owns(seat: u32, pointer: u32) -> bool {
    // SAFETY: the caller promises its own attached seat.
    unsafe { worker(seat) }.owns(Memory::LINEAR.pointer(pointer))
}

/// Bytes that an object has, or 0 when the address is no object's.
///
/// # Safety
///
/// As [`alloc`].
#[wasm_bindgen]
pub unsafe fn usable_size(seat: u32, pointer: u32) -> u32 {
    // SAFETY: the caller promises its own attached seat; the core checks the pointer.
    let bytes = unsafe { worker(seat) }.usable_size(Memory::LINEAR.pointer(pointer));
    match bytes {
        Ok(bytes) => bytes as u32,
        Err(error) => {
            leave(error);
            0
        }
    }
}
