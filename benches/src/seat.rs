//! A worker's seat as two exported functions, called from JavaScript: what the package's own calls
//! are measured against.

use std::ptr::{self, NonNull};

use ::warena::Config;
use wasm_bindgen::prelude::*;

use crate::heap::{Heap, Producer};
use crate::warena::Warena;

/// The heap and its one producer.
struct Seat {
    producer: <Warena as Heap>::Producer<'static>,
    /// Borrowed by the producer, and so never moved.
    heap: *mut Warena,
}

/// Makes an arena and takes a seat in it; the seat's address.
#[wasm_bindgen]
pub fn seat_open() -> Result<*mut u8, JsError> {
    let heap = Warena::new(Config::DEFAULT).map_err(crate::wasm::error)?;
    let heap = Box::into_raw(Box::new(heap));
    // SAFETY: freed by `seat_close` alone, when the producer has left.
    let producer = unsafe { &*heap }.join().map_err(crate::wasm::error)?;
    Ok(Box::into_raw(Box::new(Seat { producer, heap })).cast())
}

/// Allocates; 0 when there is no memory.
///
/// # Safety
///
/// The seat is open, and this thread's.
#[wasm_bindgen]
pub unsafe fn seat_alloc(seat: *mut u8, size: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    let seat = unsafe { &mut *seat.cast::<Seat>() };
    let object = seat.producer.alloc(size);
    object.map_or(ptr::null_mut(), NonNull::as_ptr)
}

/// Frees; `false` when that was refused.
///
/// # Safety
///
/// The seat is open, and this thread's.
#[wasm_bindgen]
pub unsafe fn seat_free(seat: *mut u8, object: *mut u8) -> bool {
    // SAFETY: the caller's promise.
    let seat = unsafe { &mut *seat.cast::<Seat>() };
    seat.producer.free(object).is_ok()
}

/// Leaves the seat and ends the arena; an error if it was not in order, or something allocated.
///
/// # Safety
///
/// The seat is open, this thread's, and not used again.
#[wasm_bindgen]
pub unsafe fn seat_close(seat: *mut u8) -> Result<(), JsError> {
    // SAFETY: made by `seat_open`, and this is its end.
    let seat = unsafe { Box::from_raw(seat.cast::<Seat>()) };
    seat.producer.leave().map_err(crate::wasm::error)?;
    // SAFETY: made from a box, and nobody borrows it any more.
    let heap = unsafe { Box::from_raw(seat.heap) };
    heap.finish().map_err(crate::wasm::error)
}
