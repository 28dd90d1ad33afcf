//! The bindings in Node: one agent.
#![cfg(target_family = "wasm")]

mod common;
#[allow(dead_code, reason = "no Web Workers here")]
mod heap;

use warena::Context;
use wasm_bindgen_test::wasm_bindgen_test;

#[wasm_bindgen_test]
fn allocates_and_frees() {
    common::allocates_and_frees(Context::MayWait);
}

#[wasm_bindgen_test]
fn grows() {
    common::grows(Context::MayWait);
}

#[wasm_bindgen_test]
fn reentry_is_deferred() {
    common::reentry_is_deferred(Context::MayWait);
}

#[wasm_bindgen_test]
fn a_busy_detach_changes_nothing() {
    common::a_busy_detach_changes_nothing(Context::MayWait);
}

#[wasm_bindgen_test]
fn bindings_refuse_by_name() {
    common::bindings_refuse_by_name(true);
}

#[wasm_bindgen_test]
fn the_own_heap_serves() {
    heap::serves(true);
}

#[wasm_bindgen_test]
fn the_own_heap_serves_without_a_seat() {
    heap::serves_without_a_seat();
}
