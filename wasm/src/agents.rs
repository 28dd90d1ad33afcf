//! The agents of a memory: a table of those that are started, and the words by which they take
//! turns.
//!
//! Only the package writes here, by atomic accesses from JavaScript, since an agent is entered
//! before its instance runs: before it has a stack, thread-local data, or a way to call. So this
//! is no more than room in static memory; what the words mean to each other is in the package's
//! `registry.ts`, `turn.ts` and `watch.ts`.

use serde::Serialize;
use std::mem::offset_of;
use std::sync::atomic::AtomicU32;
use warena::AgentWords;
use wasm_bindgen::prelude::*;

/// Agents that can be started on one memory at a time. Each takes 128 KiB for its stack, so these
/// would take half a gigabyte.
const MAX_AGENTS: usize = 4096;

/// An agent that is started on this memory.
#[repr(C)]
struct Record {
    /// Its number; 0: the record is free.
    agent: AtomicU32,
    /// What its death is known by.
    life: AtomicU32,
    /// What the death of the agent that started it is known by.
    parent: AtomicU32,
    /// The address of the stack that it took from the memory, and that whoever reaps it frees.
    stack: AtomicU32,
    /// The address of its thread-local data, likewise.
    thread_local_data: AtomicU32,
}

impl Record {
    const fn free() -> Self {
        Self {
            agent: AtomicU32::new(0),
            life: AtomicU32::new(0),
            parent: AtomicU32::new(0),
            stack: AtomicU32::new(0),
            thread_local_data: AtomicU32::new(0),
        }
    }
}

/// All of it, in one static so that one address is enough.
#[repr(C)]
struct Table {
    /// The memory's name, drawn at random when it is made.
    name: [AtomicU32; 2],
    /// Rises whenever a record is filled.
    changes: AtomicU32,
    /// Rises for as long as the elected watcher looks after the others.
    beat: AtomicU32,
    /// Records that were ever in use: the first ones.
    used: AtomicU32,
    records: [Record; MAX_AGENTS],
}

static TABLE: Table = Table {
    name: [AtomicU32::new(0), AtomicU32::new(0)],
    changes: AtomicU32::new(0),
    beat: AtomicU32::new(0),
    used: AtomicU32::new(0),
    records: [const { Record::free() }; MAX_AGENTS],
};

/// Where these words are: addresses, and byte offsets in a record.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentFacts {
    /// How many numbers were drawn: adding 1 draws the one that results.
    drawn: u32,
    /// The number of the agent that starts or ends now; 0: none.
    starting: u32,
    name: u32,
    changes: u32,
    beat: u32,
    used: u32,
    records: u32,
    record_bytes: u32,
    record_agent: u32,
    record_life: u32,
    record_parent: u32,
    record_stack: u32,
    record_thread_local_data: u32,
    max_agents: u32,
}

impl AgentFacts {
    pub(crate) fn get() -> Self {
        let AgentWords { drawn, starting } = AgentWords::get();
        let address = |offset: usize| (&raw const TABLE).addr() as u32 + offset as u32;
        Self {
            drawn,
            starting,
            name: address(offset_of!(Table, name)),
            changes: address(offset_of!(Table, changes)),
            beat: address(offset_of!(Table, beat)),
            used: address(offset_of!(Table, used)),
            records: address(offset_of!(Table, records)),
            record_bytes: size_of::<Record>() as u32,
            record_agent: offset_of!(Record, agent) as u32,
            record_life: offset_of!(Record, life) as u32,
            record_parent: offset_of!(Record, parent) as u32,
            record_stack: offset_of!(Record, stack) as u32,
            record_thread_local_data: offset_of!(Record, thread_local_data) as u32,
            max_agents: MAX_AGENTS as u32,
        }
    }
}

/// Takes a number, which was drawn for it alone, as the calling agent's. Called once its instance
/// is started.
#[wasm_bindgen]
pub fn become_agent(number: u32) {
    warena::become_agent(number);
}
