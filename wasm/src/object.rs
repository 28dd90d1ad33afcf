//! `alloc` and `free`, integers only: what crosses the border on every call.
//!
//! A refused call says so in its result and leaves why in [`refusal`](crate::refusal), where the
//! package fetches it by a second call. So the good case costs no object and no string.

use crate::arena::worker;
use crate::refusal::leave;
use warena::{Memory, UNIT_BYTES};
use wasm_bindgen::prelude::*;

const _: () = assert!(UNIT_BYTES > 1, "0 is never an object's address");

/// Allocates at least `bytes`; the object's address, or 0 when that was refused.
///
/// # Safety
///
/// The seat was returned by [`attach`](crate::arena::attach) to this agent, and not given up
/// since.
#[wasm_bindgen]
pub unsafe fn alloc(seat: u32, bytes: u32) -> u32 {
    // SAFETY: the caller promises its own attached seat.
    match unsafe { worker(seat) }.alloc(bytes as usize) {
        Ok(object) => object.as_ptr() as u32,
        Err(error) => {
            leave(error);
            0
        }
    }
}

/// Frees an object; whether that was done. Any address at all may be given.
///
/// # Safety
///
/// The seat was returned by [`attach`](crate::arena::attach) to this agent, and not given up
/// since.
#[wasm_bindgen]
pub unsafe fn free(seat: u32, pointer: u32) -> bool {
    // SAFETY: the caller promises its own attached seat; the core checks the pointer.
    let freed = unsafe { worker(seat) }.free(Memory::LINEAR.pointer(pointer));
    freed.map_err(leave).is_ok()
}
