//! The calling agent's own seat in the program's heap: taken at its second call, found by a word.
//!
//! | the agent's word | meaning |
//! | --- | --- |
//! | from 1 MiB on | the address of its seat: no block starts below |
//! | 0 | takes a seat now |
//! | 1 ..= 64 | takes one after so many more calls |
//! | [`TAKING`] | takes one at this moment |
//! | [`NO_SEAT`] | has given it up, or has nowhere to keep it |
//!
//! Not at the first call: on wasm the first agent's thread-local data moves once, in wasm-bindgen's
//! start, right after the allocation of its new place, and the word starts anew. A seat that was
//! taken before would be nobody's.

use super::arenas::OwnArena;
use super::source::{self, Source};
use super::word::{self, NO_SEAT};
use crate::order::CHUNK_BYTES;
use crate::worker::Worker;
use core::mem::ManuallyDrop;

/// A worker whose seat stays taken when the value goes.
pub(super) type Seated = ManuallyDrop<Worker<'static, Source>>;

/// What an agent's word says at first.
pub(super) const FIRST: u32 = 1;

/// How many calls an agent makes without a seat after it was refused one: the heap was busy, or
/// every seat is taken, which costs a lock to find out.
const AGAIN: u32 = 64;

/// Whatever taking a seat allocates is served without.
const TAKING: u32 = NO_SEAT - 1;

const _: () = assert!(AGAIN < TAKING && NO_SEAT < CHUNK_BYTES);

/// The worker in the calling agent's seat, if it has one.
#[inline(always)]
pub(super) fn worker() -> Option<Seated> {
    let word = word::get();
    if word < CHUNK_BYTES {
        return None;
    }
    Some(at(source::made()?, word))
}

#[inline(always)]
fn at(source: &'static Source, seat: u32) -> Seated {
    // SAFETY: an attached slot, whose address only its own agent has. The program's arenas live on.
    ManuallyDrop::new(unsafe { Worker::at(source, seat) })
}

/// The worker in the calling agent's seat, which it takes in `arena` if it is time.
pub(super) fn take(arena: OwnArena) -> Option<Seated> {
    match word::get() {
        0 => {
            word::set(TAKING);
            let seat = attach(arena);
            word::set(seat.unwrap_or(AGAIN));
            seat.map(|seat| at(arena.source, seat))
        }
        calls @ 1..=AGAIN => {
            word::set(calls - 1);
            None
        }
        _ => worker(),
    }
}

#[cfg_attr(
    all(target_family = "wasm", target_feature = "atomics"),
    optimize(size)
)]
fn attach(arena: OwnArena) -> Option<u32> {
    if !word::watch_end() {
        return None;
    }
    let arena = arena.handle(word::context());
    // Refused, the agent is served without a seat of its own.
    let worker = arena.attach().ok()?;
    Some(worker.into_address())
}

/// Gives up the calling agent's seat, and takes none any more; whether that was done.
#[cfg_attr(
    all(target_family = "wasm", target_feature = "atomics"),
    optimize(size)
)]
pub(super) fn leave() -> bool {
    if let Some(worker) = worker()
        && let Err((_busy, worker)) = ManuallyDrop::into_inner(worker).detach()
    {
        // The word still leads to it.
        let _ = worker.into_address();
        return false;
    }
    if word::get() != NO_SEAT {
        word::set(NO_SEAT);
    }
    true
}

/// Says whether the calling agent may wait: to its seat too, if it has one, which is in the name of
/// the agent that it is by now.
#[cfg(all(target_family = "wasm", target_feature = "atomics"))]
pub(super) fn set_may_wait(may_wait: bool) {
    use crate::agent::Agent;
    use crate::cache::slot::Slot;
    use crate::memory::Memory;

    word::set_may_wait(may_wait);
    let seat = word::get();
    if seat >= CHUNK_BYTES {
        // SAFETY: the agent's own attached slot.
        let slot = unsafe { Memory::LINEAR.at::<Slot>(seat) };
        slot.sit(Agent::current(), word::context());
    }
}
