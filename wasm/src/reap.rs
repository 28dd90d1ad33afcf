//! Taking in what an agent that has ended left in an arena.
//!
//! Integers only, as for [objects](crate::object), and what was found is fetched by a second call.
//! So whoever reaps needs nothing from the module's own heap until it is known to be whole.

use crate::arena::open;
use serde::Serialize;
use std::cell::Cell;
use warena::{ReapError, Reaped};
use wasm_bindgen::prelude::*;

thread_local! {
    static REAPED: Cell<Option<Reaped>> = const { Cell::new(None) };
}

/// Reaps an agent in the arena at `header`; false when the heap stayed locked for as long as this
/// agent may spin. What was found is left for [`take_reaped`].
///
/// # Safety
///
/// `header` is an arena's. The agent has ended: it executes nothing any more.
#[wasm_bindgen]
pub unsafe fn reap_agent(header: u32, agent: u32, may_wait: bool) -> bool {
    // SAFETY: the caller promises an arena.
    let Ok(arena) = (unsafe { open(header, may_wait) }) else {
        // Made by a part of this package of another layout, of which there is none.
        unreachable!("no arena at {header:#x}");
    };
    // SAFETY: the caller promises that the agent has ended.
    match unsafe { arena.reap_agent(agent) } {
        Ok(reaped) => {
            REAPED.set(Some(reaped));
            true
        }
        Err(ReapError::Busy) => false,
        // Its own number, which has not ended: a breach of the promise.
        Err(error) => unreachable!("agent {agent}: {error}"),
    }
}

/// What the last [`reap_agent`] found ([`Reaped`]), as an object.
#[wasm_bindgen]
pub fn take_reaped() -> Result<JsValue, JsValue> {
    let reaped = REAPED.take().unwrap_or_default();
    // Counts of bytes as numbers, not as 64-bit integers.
    Ok(reaped.serialize(&serde_wasm_bindgen::Serializer::new())?)
}
