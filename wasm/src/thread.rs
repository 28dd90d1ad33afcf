//! What an agent or a memory needs once.

use std::sync::atomic::AtomicU32;
use wasm_bindgen::prelude::*;

/// Makes a panic readable: without this, all that JavaScript sees is "unreachable". Runs in the
/// first instance on a memory; the hook is in shared memory and so serves them all.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|panic| {
        web_sys::console::error_1(&format!("warena: {panic}").into());
    }));
}

static IDENTITY: AtomicU32 = AtomicU32::new(0);

/// The address of a word that nothing else uses. A copy of a `WebAssembly.Memory` that came by a
/// message is another object; what is written here through one and read through the other tells
/// whether both are the same memory.
pub(crate) fn identity_word() -> u32 {
    IDENTITY.as_ptr() as u32
}
