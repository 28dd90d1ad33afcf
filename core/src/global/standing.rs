//! Seats for agents that have none: those without thread-local data, those on their way to a seat
//! or done with it, and those for whom every seat is taken.
//!
//! Slots without stacks: whatever is called in one goes straight to the central heap, under its
//! lock and in the calling agent's name. So any number of agents use one at once. They are in no
//! directory, since nobody's objects are in them; all that a call writes there is counters, which
//! nobody reads, so that it does not matter which of two writers comes last. Each arena has two:
//! one for agents that may wait, one for those that may not.

use super::Seated;
use super::source::{self, Source};
use crate::agent::Agent;
use crate::arena::Arena;
use crate::cache::slot::Slot;
use crate::config::Config;
use crate::lock::{Context, Patience};
use crate::order::order_of;
use crate::source::ChunkSource;
use crate::worker::Worker;
use core::mem::ManuallyDrop;

const CONTEXTS: [Context; 2] = [Context::NoWait, Context::MayWait];
const SLOT_BYTES: u32 = size_of::<Slot>() as u32;

/// The standing seats of one of the program's arenas.
#[derive(Clone, Copy)]
pub(super) struct Standing {
    source: &'static Source,
    /// Address of the first.
    seats: u32,
}

impl Standing {
    /// Those at an address that [`make`](Self::make) returned.
    pub(super) fn at(seats: u32) -> Option<Self> {
        let source = source::made()?;
        (seats != 0).then_some(Self { source, seats })
    }

    /// Makes the seats of an arena that nobody else knows yet; their address.
    pub(super) fn make(source: &'static Source, arena: &Arena<&'static Source>) -> Option<u32> {
        let header = arena.header();
        let mut heap = header.heap(source, Agent::current(), Patience::Try).ok()?;
        let bytes = SLOT_BYTES * CONTEXTS.len() as u32;
        let seats = heap.take_metadata(order_of(bytes))?;
        let memory = source.memory();
        // SAFETY: the block was just taken for this, and is large enough.
        unsafe { memory.pointer::<u8>(seats).write_bytes(0, bytes as usize) };
        for (context, address) in CONTEXTS
            .into_iter()
            .zip((seats..).step_by(SLOT_BYTES as usize))
        {
            // SAFETY: zeroed just now, and aligned as a slot is: its block is to its own size.
            let slot = unsafe { memory.at::<Slot>(address) };
            slot.begin(
                memory,
                address,
                u32::MAX,
                arena.address(),
                &Config::NO_CACHES,
            );
            slot.may_wait.set((context == Context::MayWait).into());
        }
        Some(seats)
    }

    pub(super) fn source(self) -> &'static Source {
        self.source
    }

    /// A worker that stands there, for the calling agent of that context.
    pub(super) fn worker(self, context: Context) -> Seated {
        let offset = if context == CONTEXTS[0] {
            0
        } else {
            SLOT_BYTES
        };
        // SAFETY: a slot of a live arena. Others use it at the same time, which it is made for: no
        // call finds a stack in it.
        ManuallyDrop::new(unsafe { Worker::at(self.source, self.seats + offset) })
    }

    /// The arena, for an agent of that context.
    pub(super) fn arena(self, context: Context) -> Option<Arena<&'static Source>> {
        // SAFETY: a slot of a live arena, which knows that one's header.
        let header = unsafe { self.source.memory().at::<Slot>(self.seats) }
            .header
            .get();
        // SAFETY: the header of a live arena; the program's arenas are never destroyed.
        unsafe { Arena::open(self.source, header, context) }.ok()
    }
}
