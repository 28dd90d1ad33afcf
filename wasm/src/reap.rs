//! Taking in what an agent that has ended left in an arena.

use crate::answer::leave_figures;
use crate::arena::open;
use warena::ReapError;
use wasm_bindgen::prelude::*;

/// Reaps an agent in the arena at `header`; false when the heap stayed locked for as long as this
/// agent may spin. What was found ([`Reaped`](warena::Reaped)) is left as figures.
///
/// # Safety
///
/// `header` is an arena's. The agent has ended: it executes nothing any more.
#[wasm_bindgen]
pub unsafe fn reap_agent(header: u32, agent: u32, may_wait: bool) -> bool {
    // SAFETY: the caller promises an arena.
    let Ok(arena) = (unsafe { open(header, may_wait) }) else {
        // Arenas stay for as long as their memory, and all agents have the same layout.
        unreachable!("no arena at {header:#x}");
    };
    // SAFETY: the caller promises that the agent has ended.
    match unsafe { arena.reap_agent(agent) } {
        Ok(reaped) => {
            leave_figures(&reaped);
            true
        }
        Err(ReapError::Busy) => false,
        // Its own number, which has not ended: a breach of the promise.
        Err(error) => unreachable!("agent {agent}: {error}"),
    }
}
