//! Standing seats: for agents that have none, each for the length of a call.
//!
//! An agent has no seat before its thread-local data exists and when that is gone, while it is about
//! to take one, once it has given it up, and where every seat is taken. It then stands in one of a
//! few seats that every arena of the program has from the start, which a compare-and-swap of the
//! seat's agent takes and a store gives back; no lock is needed for it, so a heap that stays locked
//! keeps nobody from having a seat, and a free that has one can be deferred. All else about such a
//! seat is as with any other: the next agent goes on with what it caches, and whoever reaps an agent
//! that ended in one empties it and sets it free.
//!
//! **Ordering.** Taking acquires, giving back releases: all that one agent did there is visible to
//! the next.

use super::arenas::OwnArena;
use super::source::{Handle, Source};
use super::word;
use crate::agent::Agent;
use crate::cache::slot::Slot;
use crate::lock::{Context, Patience};
use crate::source::ChunkSource;
use crate::worker::Worker;
use core::mem::ManuallyDrop;
use core::ops::Deref;

/// How many an arena has.
pub(super) const SEATS: u32 = 8;

/// Looks at all of them before an agent that may not wait gives up: some ten milliseconds.
const LOOKS: u32 = 1 << 17;

/// An agent in a standing seat, which it leaves when dropped.
pub(super) struct Stand {
    worker: ManuallyDrop<Worker<'static, Source>>,
    slot: &'static Slot,
}

impl Deref for Stand {
    type Target = Worker<'static, Source>;

    fn deref(&self) -> &Self::Target {
        &self.worker
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        self.slot.vacate();
    }
}

/// Makes the seats of an arena that nobody else knows yet.
#[cfg_attr(
    all(target_family = "wasm", target_feature = "atomics"),
    optimize(size)
)]
pub(super) fn make(source: &'static Source, arena: &Handle) -> Option<()> {
    let header = arena.header();
    let mut heap = header.heap(source, Agent::current(), Patience::Try).ok()?;
    let slots = &header.slots;
    let made = slots.make_standing(&mut heap, source, &arena.config(), arena.address(), SEATS);
    made.ok()
}

/// Takes a seat of `arena` for the calling agent, of that context.
#[cfg_attr(
    all(target_family = "wasm", target_feature = "atomics"),
    optimize(size)
)]
pub(super) fn take(arena: OwnArena, context: Context) -> Option<Stand> {
    let memory = arena.source.memory();
    let handle = arena.handle(context);
    let agent = Agent::current();
    let mut looks = 0;
    loop {
        let mut seats = handle.header().slots.iter(memory).take(SEATS as usize);
        if let Some(slot) = seats.find(|slot| slot.stand(agent, context)) {
            let address = memory.address(core::ptr::from_ref(slot))?;
            // SAFETY: a slot of an arena that is never destroyed, and this agent's until it vacates.
            let worker = ManuallyDrop::new(unsafe { Worker::at(arena.source, address) });
            // SAFETY: as above: slots stay where they are.
            let slot = unsafe { memory.at(address) };
            return Some(Stand { worker, slot });
        }
        looks += 1;
        match context {
            Context::NoWait if looks == LOOKS => return None,
            Context::NoWait => core::hint::spin_loop(),
            Context::MayWait => word::rest(),
        }
    }
}
