//! For tests only (feature `death`): an agent can be made to stand still before any write to shared
//! memory, so that a test ends it there.

use std::sync::atomic::AtomicU32;
use warena::{GO_ON, STALLED, STARTING_WRITES};
use wasm_bindgen::prelude::*;

/// The calling agent stands still instead of its write number `writes`, counted from 0 and from now
/// on; without a number it goes on.
#[wasm_bindgen]
pub fn die_at(writes: Option<u32>) {
    warena::die_at(writes);
}

/// Writes that the calling agent does until it stands still.
#[wasm_bindgen]
pub fn writes_left() -> u32 {
    warena::writes_left()
}

/// How often the calling agent has waited for a lock.
#[wasm_bindgen]
pub fn waits() -> u32 {
    warena::waits()
}

/// The address of the word that counts who has come to stand still.
#[wasm_bindgen]
pub fn stalled_word() -> u32 {
    address(&STALLED)
}

/// The address of the word at whose change those who stand still go on.
#[wasm_bindgen]
pub fn go_on_word() -> u32 {
    address(&GO_ON)
}

/// The address of the word with the writes until an agent that starts or ends stands still; all bits
/// set: it does not.
#[wasm_bindgen]
pub fn starting_writes_word() -> u32 {
    address(&STARTING_WRITES)
}

fn address(word: &AtomicU32) -> u32 {
    word.as_ptr() as u32
}
