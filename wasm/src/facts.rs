//! What the package's build records as constants, so that no number is typed twice.
//!
//! `wasm/npm/build.mjs` calls this once, at build time, and writes the answer as TypeScript.

use crate::agents::AgentFacts;
use crate::answer::PIECE;
use crate::refusal::CODES;
use crate::thread::identity_word;
use js_sys::JSON;
use serde::Serialize;
use std::collections::BTreeMap;
use warena::{
    BlockState, Config, Extent, Layout, MAX_BLOCK_BYTES, MAX_BURST_CAPACITY, MAX_CACHED_ORDERS,
    MAX_CAPACITY, MAX_TRANSFER_CAPACITY, MAX_WORKERS, Reaped, Stats, Verification, block_extent,
    block_state,
};
use wasm_bindgen::prelude::*;

/// Everything the package must know without asking.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Facts {
    layout: Layout,
    /// Whether the package serves hits itself, on the shared memory. Not where every write is a step
    /// of its agent's life, which only the module's are.
    hits_in_package: bool,
    default_config: Config,
    /// Names of the block states with their numbers.
    block_states: BTreeMap<String, u8>,
    /// Where the state starts in a byte of a block map.
    block_state_shift: u32,
    /// Orders of the blocks that the bits below the state name, and the units that they cover.
    block_orders: Vec<u32>,
    block_units: Vec<u32>,
    /// See [`identity_word`](crate::thread::identity_word).
    identity_word: u32,
    agents: AgentFacts,
    /// Names of refusals by their numbers, from 1 on.
    refusal_codes: &'static [&'static str],
    /// Pointers that are passed in one call.
    piece: u32,
    /// Answers that are figures, for the names and the order of these.
    stats: Stats,
    verification: Verification,
    reaped: Reaped,
    max_block_bytes: u32,
    max_cached_orders: u32,
    max_burst_capacity: u32,
    max_capacity: u32,
    max_transfer_capacity: u32,
    max_workers: u32,
}

/// The facts of this build, as an object.
#[wasm_bindgen]
pub fn facts() -> Result<JsValue, JsValue> {
    // The lowest bit that says something else than "no block starts here" is a state's.
    let block_state_shift = (0..u8::BITS)
        .find(|&bit| block_state(1 << bit) != BlockState::Interior)
        .unwrap_or(u8::BITS);
    let block_states = (0..=u8::MAX >> block_state_shift)
        .map(|number| {
            let state = block_state(number << block_state_shift);
            (format!("{state:?}"), number)
        })
        .collect();
    let extents = || (0..1 << block_state_shift).map_while(block_extent);
    let facts = Facts {
        layout: Layout::CURRENT,
        hits_in_package: !cfg!(feature = "death"),
        default_config: Config::DEFAULT,
        block_states,
        block_state_shift,
        block_orders: extents().map(Extent::order).collect(),
        block_units: extents().map(Extent::units).collect(),
        identity_word: identity_word(),
        agents: AgentFacts::get(),
        refusal_codes: CODES,
        piece: PIECE as u32,
        stats: Stats::default(),
        verification: Verification::default(),
        reaped: Reaped::default(),
        max_block_bytes: MAX_BLOCK_BYTES,
        max_cached_orders: MAX_CACHED_ORDERS,
        max_burst_capacity: MAX_BURST_CAPACITY,
        max_capacity: MAX_CAPACITY,
        max_transfer_capacity: MAX_TRANSFER_CAPACITY,
        max_workers: MAX_WORKERS,
    };
    let text = serde_json::to_string(&facts).map_err(|error| JsError::new(&error.to_string()))?;
    JSON::parse(&text)
}
