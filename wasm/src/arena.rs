//! Calls on a whole arena, by the address of its header, and on a worker's seat in it.
//!
//! A *seat* is the address of an attached slot, a *header* that of an arena; the package keeps
//! both and hands them back. `may_wait` says whether the calling agent may block, which the
//! package asks the engine about once.

use crate::arenas;
use crate::refusal::Refusal;
use std::mem::ManuallyDrop;
use warena::{Arena, ArenaError, Config, Context, WasmMemory, Worker};
use wasm_bindgen::prelude::*;

fn context(may_wait: bool) -> Context {
    if may_wait {
        Context::MayWait
    } else {
        Context::NoWait
    }
}

/// # Safety
///
/// As [`Arena::open`].
pub(crate) unsafe fn open(header: u32, may_wait: bool) -> Result<Arena<WasmMemory>, ArenaError> {
    // SAFETY: the caller's promise is the same.
    unsafe { Arena::open(WasmMemory, header, context(may_wait)) }
}

/// The worker in a seat, which stays attached when the value goes.
///
/// # Safety
///
/// The seat was returned by [`attach`] to this agent, and not given up since.
#[inline(always)]
pub(crate) unsafe fn worker(seat: u32) -> ManuallyDrop<Worker<'static, WasmMemory>> {
    // SAFETY: the slot is attached, and only its own agent calls with it; arenas are never
    // destroyed by the package, so this one lives on.
    ManuallyDrop::new(unsafe { Worker::at(&WasmMemory, seat) })
}

/// Makes an arena with these settings; the address of its header.
#[wasm_bindgen]
pub fn create(
    cached_orders: u32,
    capacity: u32,
    batch: u32,
    transfer_capacity: u32,
    max_workers: u32,
    max_chunks: u32,
    may_wait: bool,
) -> Result<u32, JsValue> {
    let config = Config {
        cached_orders,
        capacity,
        batch,
        transfer_capacity,
        max_workers,
        max_chunks,
        ..Config::DEFAULT
    };
    let arena = Arena::create(WasmMemory, config, context(may_wait)).map_err(Refusal::from)?;
    arenas::enter(arena.address());
    Ok(arena.address())
}

/// Takes a slot for the calling agent; its seat.
///
/// # Safety
///
/// As [`Arena::open`]: `header` is an arena's, or readable for the length of a header.
#[wasm_bindgen]
pub unsafe fn attach(header: u32, may_wait: bool) -> Result<u32, JsValue> {
    // SAFETY: the caller's promise is the same.
    let arena = unsafe { open(header, may_wait) }.map_err(Refusal::from)?;
    let worker = arena.attach().map_err(Refusal::from)?;
    Ok(worker.into_address())
}

/// The number of the slot that a seat is in, from 0.
///
/// # Safety
///
/// The seat was returned by [`attach`] to this agent, and not given up since.
#[wasm_bindgen]
pub unsafe fn slot_number(seat: u32) -> u32 {
    // SAFETY: the caller promises its own attached seat.
    unsafe { worker(seat) }.slot()
}

/// Says anew whether the calling agent may wait for locks in a seat of its own.
///
/// # Safety
///
/// The seat was returned by [`attach`] to this agent, and not given up since.
#[wasm_bindgen]
pub unsafe fn set_may_wait(seat: u32, may_wait: bool) {
    // SAFETY: the caller promises its own attached seat.
    unsafe { worker(seat) }.set_context(context(may_wait));
}

/// Fills the seat's cache until the next `count` allocations of `bytes` are hits.
///
/// # Safety
///
/// The seat was returned by [`attach`] to this agent, and not given up since.
#[wasm_bindgen]
pub unsafe fn reserve(seat: u32, bytes: u32, count: u32) -> Result<(), JsValue> {
    // SAFETY: the caller promises its own attached seat.
    let reserved = unsafe { worker(seat) }.reserve(bytes as usize, count as usize);
    Ok(reserved.map_err(Refusal::from)?)
}

/// Returns all that the seat caches to the heap.
///
/// # Safety
///
/// The seat was returned by [`attach`] to this agent, and not given up since.
#[wasm_bindgen]
pub unsafe fn flush(seat: u32) -> Result<(), JsValue> {
    // SAFETY: the caller promises its own attached seat.
    Ok(unsafe { worker(seat) }.flush().map_err(Refusal::from)?)
}

/// Gives the seat up, with all that it caches. Refused as busy, it stays attached.
///
/// # Safety
///
/// The seat was returned by [`attach`] to this agent, and not given up since.
#[wasm_bindgen]
pub unsafe fn detach(seat: u32) -> Result<(), JsValue> {
    // SAFETY: the caller promises its own attached seat.
    let worker = ManuallyDrop::into_inner(unsafe { worker(seat) });
    worker.detach().map_err(|(busy, worker)| {
        // Dropping it would try to detach once more; the package keeps the seat instead.
        let _seat = worker.into_address();
        Refusal::from(busy).into()
    })
}

/// Adds up to `count` chunks to the arena; how many it got before a maximum was reached.
///
/// # Safety
///
/// As [`Arena::open`].
#[wasm_bindgen]
pub unsafe fn grow(header: u32, count: u32, may_wait: bool) -> Result<u32, JsValue> {
    // SAFETY: the caller's promise is the same.
    let arena = unsafe { open(header, may_wait) }.map_err(Refusal::from)?;
    Ok(arena.grow(count).map_err(Refusal::from)?)
}

/// The arena's figures ([`warena::Stats`]) as an object of numbers.
///
/// # Safety
///
/// As [`Arena::open`].
#[wasm_bindgen]
pub unsafe fn stats(header: u32) -> Result<JsValue, JsValue> {
    // SAFETY: the caller's promise is the same. Figures take no lock, so nothing is waited for.
    let arena = unsafe { open(header, false) }.map_err(Refusal::from)?;
    Ok(serde_wasm_bindgen::to_value(&arena.stats())?)
}

/// Proves the arena to be in order; what it holds ([`warena::Verification`]) as an object.
///
/// # Safety
///
/// As [`Arena::open`].
#[wasm_bindgen]
pub unsafe fn verify(header: u32, may_wait: bool) -> Result<JsValue, JsValue> {
    // SAFETY: the caller's promise is the same.
    let arena = unsafe { open(header, may_wait) }.map_err(Refusal::from)?;
    let verification = arena.verify().map_err(Refusal::from)?;
    Ok(serde_wasm_bindgen::to_value(&verification)?)
}
