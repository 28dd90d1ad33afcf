//! Many objects at once.
//!
//! An array of addresses is passed in the agent's thread-local data, in pieces. What is needed beyond
//! that comes from the stack, or from an allocation that may fail: a call that finds the memory full
//! must answer, and one that frees must succeed.

use crate::answer::{PIECE, with_pointers};
use crate::arena::worker;
use crate::refusal::leave;
use warena::{AllocError, FreeError, MAX_ORDER, Memory, UNIT_BYTES, order_of};
use wasm_bindgen::prelude::*;

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

/// Frees the first `count` of the pointers that are passed; how many were refused. Each of these is
/// replaced by a number for [`explain_free`], and the others by 0. Zeroes are passed over, and any
/// address at all may be among them.
///
/// # Safety
///
/// As [`alloc_bulk`].
#[wasm_bindgen]
pub unsafe fn free_bulk(seat: u32, count: u32) -> u32 {
    let mut pointers = [std::ptr::null_mut(); PIECE];
    with_pointers(|passed| {
        let passed = &passed[..count as usize];
        for (pointer, address) in pointers.iter_mut().zip(passed) {
            *pointer = Memory::LINEAR.pointer(address.replace(0));
        }
        let mut refused = 0;
        // SAFETY: the caller promises its own attached seat; the core checks the pointers.
        unsafe { worker(seat) }.free_bulk(&pointers[..passed.len()], |index, error| {
            passed[index].set(error as u32);
            refused += 1;
        });
        refused
    })
}

/// Leaves the refusal that [`free_bulk`] has this number for.
#[wasm_bindgen]
pub fn explain_free(number: u32) {
    const ALL: [FreeError; 8] = [
        FreeError::Foreign,
        FreeError::Unaligned,
        FreeError::Interior,
        FreeError::Metadata,
        FreeError::NotAllocated,
        FreeError::Cached,
        FreeError::InTransfer,
        FreeError::Deferred,
    ];
    if let Some(&error) = ALL.iter().find(|&&error| error as u32 == number) {
        leave(error);
    }
}
