//! The bindings in Node: one agent.
#![cfg(target_family = "wasm")]

mod common;

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
fn bindings_refuse_by_name() {
    common::bindings_refuse_by_name(true);
}
