//! Many objects at once.
//!
//! What an array of addresses needs on this side comes from the stack, or from an allocation that
//! may fail: a call that finds the memory full must answer, and one that frees must succeed.

use crate::arena::worker;
use crate::plain::plain;
use crate::refusal::{Refusal, leave};
use js_sys::{Array, Uint32Array};
use serde::Serialize;
use warena::{AllocError, FreeError, MAX_ORDER, Memory, UNIT_BYTES, order_of};
use wasm_bindgen::prelude::*;

/// Pointers that are freed under one taking of the lock: as many as an agent's stack of 128 KiB
/// holds with ease.
const PIECE: usize = 2048;

/// Allocates `1 << n_order` objects of at least `bytes` each, one behind the other; the address of
/// the first, or 0 when that was refused.
///
/// # Safety
///
/// The seat was returned by [`attach`](crate::arena::attach) to this agent, and not given up
/// since.
#[wasm_bindgen]
pub unsafe fn alloc_bulk(seat: u32, bytes: u32, n_order: u32) -> u32 {
    // More objects than a chunk has units are refused before the array is looked at.
    let count = 1 << n_order.min(MAX_ORDER);
    let mut objects = Vec::new();
    if objects.try_reserve_exact(count).is_err() {
        leave(AllocError::OutOfMemory);
        return 0;
    }
    objects.resize(count, std::ptr::null_mut());
    // SAFETY: the caller promises its own attached seat.
    let allocated = unsafe { worker(seat) }.alloc_bulk(bytes as usize, n_order, &mut objects);
    match allocated {
        Ok(()) => objects[0] as u32,
        Err(error) => {
            leave(error);
            0
        }
    }
}

/// From one object of a bulk to the next: bytes of the blocks that hold `bytes`.
#[wasm_bindgen]
pub fn bulk_stride(bytes: u32) -> u32 {
    UNIT_BYTES << order_of(bytes)
}

/// A pointer that was not freed.
#[derive(Serialize)]
struct Refused {
    index: u32,
    refusal: Refusal,
}

/// Frees every pointer of an array; an array of those that were refused. Zeroes are passed over,
/// and any address at all may be among them.
///
/// # Safety
///
/// As [`alloc_bulk`].
#[wasm_bindgen]
pub unsafe fn free_bulk(seat: u32, pointers: &Uint32Array) -> Array {
    let refusals = Array::new();
    let mut addresses = [0; PIECE];
    let length = pointers.length();
    for first in (0..length).step_by(PIECE) {
        let last = length.min(first + PIECE as u32);
        let addresses = &mut addresses[..(last - first) as usize];
        pointers.subarray(first, last).copy_to(addresses);
        // SAFETY: the caller promises its own attached seat.
        unsafe { free_piece(seat, addresses, first, &refusals) };
    }
    refusals
}

/// Frees a piece of an array that starts at index `first`.
///
/// # Safety
///
/// As [`alloc_bulk`].
unsafe fn free_piece(seat: u32, addresses: &[u32], first: u32, refusals: &Array) {
    let mut pointers = [std::ptr::null_mut(); PIECE];
    for (pointer, &address) in pointers.iter_mut().zip(addresses) {
        *pointer = Memory::LINEAR.pointer(address);
    }
    // Kept until the lock is let go of: JavaScript is not called, nor anything allocated, under it.
    let mut errors: [Option<FreeError>; PIECE] = [None; PIECE];
    // SAFETY: the caller promises its own attached seat; the core checks the pointers.
    unsafe { worker(seat) }.free_bulk(&pointers[..addresses.len()], |index, error| {
        errors[index] = Some(error);
    });
    for (index, error) in (first..).zip(errors) {
        if let Some(error) = error {
            let refusal = error.into();
            let refused = Refused { index, refusal };
            refusals.push(&plain(&refused).unwrap_or_else(|error| error));
        }
    }
}
