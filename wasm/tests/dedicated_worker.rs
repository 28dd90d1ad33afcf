//! The bindings in a Web Worker, which may wait, and four Web Workers that it starts.
#![cfg(target_family = "wasm")]

mod common;
mod crew;
mod heap;

use warena::Context;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_dedicated_worker);

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
async fn four_workers_and_a_fifth() {
    crew::four_workers_and_this_agent(Context::MayWait).await;
}

#[wasm_bindgen_test]
fn the_own_heap_serves() {
    heap::serves(true);
}

#[wasm_bindgen_test]
async fn agents_come_and_go_in_the_own_heap() {
    heap::agents_come_and_go().await;
}

#[wasm_bindgen_test]
fn the_own_heap_serves_without_a_seat() {
    heap::serves_without_a_seat();
}
