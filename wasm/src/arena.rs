//! Calls on a whole arena, by the address of its header, and on a worker's seat in it.
//!
//! A *seat* is the address of an attached slot, a *header* that of an arena; the package keeps
//! both and hands them back. Calls answer with integers, and leave why they were refused in
//! [`refusal`](crate::refusal) and what else they have to say in [`answer`](crate::answer). `may_wait` says whether the calling agent may block, which the
//! package asks the engine about once.

use crate::answer::leave_figures;
use crate::arenas;
use crate::c;
use crate::refusal::{Left, done, leave};
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

/// What a call returned, or 0, with the reason left behind.
fn or_left(result: Result<u32, Left>) -> u32 {
    result.unwrap_or_else(|error| {
        leave(error);
        0
    })
}

/// Makes an arena with these settings; the address of its header, or 0 when that was refused.
#[wasm_bindgen]
#[expect(
    clippy::too_many_arguments,
    reason = "integers cost the border nothing"
)]
pub fn create(
    cached_orders: u32,
    capacity: u32,
    burst_capacity: u32,
    batch: u32,
    transfer_capacity: u32,
    max_workers: u32,
    max_chunks: u32,
    may_wait: bool,
) -> u32 {
    let config = Config {
        cached_orders,
        capacity,
        burst_capacity,
        batch,
        transfer_capacity,
        max_workers,
        max_chunks,
        ..Config::DEFAULT
    };
    let made = Arena::create(WasmMemory, config, context(may_wait));
    or_left(made.map_err(Left::from).map(|arena| {
        arenas::enter(arena.address());
        arena.address()
    }))
}

/// Takes a slot for the calling agent; its seat, or 0 when that was refused.
///
/// # Safety
///
/// As [`Arena::open`]: `header` is an arena's, or readable for the length of a header.
#[wasm_bindgen]
pub unsafe fn attach(header: u32, may_wait: bool) -> u32 {
    let attach = || {
        // SAFETY: the caller's promise is the same.
        let arena = unsafe { open(header, may_wait) }?;
        Ok(arena.attach()?.into_address())
    };
    or_left(attach())
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

/// Fills the seat's cache until the next `count` allocations of `bytes` are hits; whether it could.
///
/// # Safety
///
/// The seat was returned by [`attach`] to this agent, and not given up since.
#[wasm_bindgen]
pub unsafe fn reserve(seat: u32, bytes: u32, count: u32) -> bool {
    // SAFETY: the caller promises its own attached seat.
    done(unsafe { worker(seat) }.reserve(bytes as usize, count as usize))
}

/// Returns all that the seat caches to the heap; whether it could.
///
/// # Safety
///
/// The seat was returned by [`attach`] to this agent, and not given up since.
#[wasm_bindgen]
pub unsafe fn flush(seat: u32) -> bool {
    // SAFETY: the caller promises its own attached seat.
    done(unsafe { worker(seat) }.flush())
}

/// Gives the seat up, with all that it caches; whether it could. Refused as busy, it stays attached.
///
/// # Safety
///
/// The seat was returned by [`attach`] to this agent, and not given up since.
#[wasm_bindgen]
pub unsafe fn detach(seat: u32) -> bool {
    // SAFETY: the caller promises its own attached seat.
    let worker = ManuallyDrop::into_inner(unsafe { worker(seat) });
    let given_up = done(worker.detach().map_err(|(busy, worker)| {
        // Dropping it would try to detach once more; the package keeps the seat instead.
        let _seat = worker.into_address();
        busy
    }));
    if given_up {
        c::leave(seat);
    }
    given_up
}

/// Adds up to `count` chunks to the arena; one more than it got before a maximum was reached, or 0
/// when that was refused.
///
/// # Safety
///
/// As [`Arena::open`].
#[wasm_bindgen]
pub unsafe fn grow(header: u32, count: u32, may_wait: bool) -> u32 {
    let grow = || {
        // SAFETY: the caller's promise is the same.
        let arena = unsafe { open(header, may_wait) }?;
        Ok(arena.grow(count)? + 1)
    };
    or_left(grow())
}

/// Leaves the arena's figures ([`warena::Stats`]); whether there is an arena.
///
/// # Safety
///
/// As [`Arena::open`].
#[wasm_bindgen]
pub unsafe fn stats(header: u32) -> bool {
    // SAFETY: the caller's promise is the same. Figures take no lock, so nothing is waited for.
    let arena = unsafe { open(header, false) };
    done(arena.map(|arena| leave_figures(&arena.stats())))
}

/// Proves the arena to be in order; whether it is. What it holds ([`warena::Verification`]) is left as
/// figures.
///
/// # Safety
///
/// As [`Arena::open`].
#[wasm_bindgen]
pub unsafe fn verify(header: u32, may_wait: bool) -> bool {
    let verify = || {
        // SAFETY: the caller's promise is the same.
        let arena = unsafe { open(header, may_wait) }?;
        leave_figures(&arena.verify()?);
        Ok::<_, Left>(())
    };
    done(verify())
}
