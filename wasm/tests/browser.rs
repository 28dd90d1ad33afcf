//! The bindings on a page's main thread, which never waits, and four Web Workers alongside.
#![cfg(target_family = "wasm")]

mod common;
mod crew;
mod heap;

use warena::Context;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
fn allocates_and_frees() {
    common::allocates_and_frees(Context::NoWait);
}

#[wasm_bindgen_test]
fn grows() {
    common::grows(Context::NoWait);
}

#[wasm_bindgen_test]
fn reentry_is_deferred() {
    common::reentry_is_deferred(Context::NoWait);
}

#[wasm_bindgen_test]
fn a_busy_detach_changes_nothing() {
    common::a_busy_detach_changes_nothing(Context::NoWait);
}

#[wasm_bindgen_test]
fn bindings_refuse_by_name() {
    common::bindings_refuse_by_name(false);
}

#[wasm_bindgen_test]
async fn four_workers_and_the_main_thread() {
    crew::four_workers_and_this_agent(Context::NoWait).await;
}

#[wasm_bindgen_test]
fn the_own_heap_serves() {
    heap::serves(false);
}

#[wasm_bindgen_test]
async fn agents_come_and_go_in_the_own_heap() {
    heap::agents_come_and_go().await;
}

#[wasm_bindgen_test]
fn the_own_heap_serves_without_a_seat() {
    heap::serves_without_a_seat();
}
