//! The module's own heap: agents' stacks and thread-local data, wasm-bindgen's strings and objects.
//!
//! An arena like any other, on the same memory, so that an agent which dies in its lock is recovered
//! from like from any other: the package reaps it there too. Who attaches an agent says first
//! whether it may wait, and who ends one gives its seat up before its thread-local data goes.

use warena::{Config, Global};
use wasm_bindgen::prelude::*;

/// Small: nothing here is called often, and each seat's caches hold on to memory.
#[global_allocator]
static HEAP: Global = Global::with(Config {
    cached_orders: 6,
    capacity: 8,
    batch: 4,
    burst_capacity: 8,
    transfer_capacity: 0,
    ..Config::DEFAULT
});

/// The address of the header of an arena of the module's heap, by its number: 0 is the one that
/// serves everybody. 0 when there is none of that number.
#[wasm_bindgen]
pub fn heap_header(number: u32) -> u32 {
    let mut arenas = Global::arenas();
    arenas
        .nth(number as usize)
        .map_or(0, |arena| arena.address())
}

/// Says whether the calling agent may wait for a lock of the module's heap. Until then it does not.
#[wasm_bindgen]
pub fn set_heap_may_wait(may_wait: bool) {
    Global::set_may_wait(may_wait);
}

/// Gives up the calling agent's seat in the module's heap; whether that was done, which it is not
/// while the heap stays locked. What the agent frees after that, as it does when it ends, goes
/// straight to the heap.
#[wasm_bindgen]
pub fn leave_heap() -> bool {
    Global::leave()
}
