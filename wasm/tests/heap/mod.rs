//! The module's own heap, which these tests are allocated from like everything else in the module.
//!
//! Other agents are none of its users while it is proved: each test waits for those that it started.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicPtr, Ordering};
use warena::{Global, Stats};
use warena_wasm::heap::{heap_header, leave_heap, set_heap_may_wait};
use wasm_bindgen::prelude::*;

/// Figures of the heap, after the proof of all its arenas.
fn proven() -> Stats {
    for (number, arena) in (0..).zip(Global::arenas()) {
        arena.verify().unwrap();
        assert_eq!(heap_header(number), arena.address());
    }
    assert_eq!(heap_header(Global::arenas().count() as u32), 0);
    assert_eq!((Global::refused(), Global::lost()), (0, 0));
    Global::arena().unwrap().stats()
}

/// Allocates, checks and frees a little of everything.
fn churn(seed: usize) {
    let mut table = HashMap::new();
    for round in 0..500 {
        let text = format!("{seed} {round:>width$}", width = round % 200);
        let numbers = vec![round; 1 + (round * seed) % 700];
        table.insert(text, numbers);
        if round % 7 == 0 {
            table.retain(|text, _| text.len() % 3 != 0);
        }
    }
    for (text, numbers) in &table {
        let round: usize = text.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert!(numbers.iter().all(|&number| number == round));
    }
}

/// Objects of every shape, in the seat of an agent that may wait or not.
pub fn serves(may_wait: bool) {
    set_heap_may_wait(may_wait);
    churn(3);
    for shift in 0..=20 {
        let layout = Layout::from_size_align(3000, 1 << shift).unwrap();
        // SAFETY: the size is not 0; the block is resized and freed once, with its layout.
        unsafe {
            let block = black_box(alloc_zeroed(layout));
            assert!(block.addr().is_multiple_of(1 << shift));
            assert!((0..3000).all(|index| block.add(index).read() == 0));
            block.write_bytes(0xa5, 3000);
            let moved = black_box(realloc(block, layout, 3 << 20));
            assert!(moved.addr().is_multiple_of(1 << shift));
            assert!((0..3000).all(|index| moved.add(index).read() == 0xa5));
            dealloc(moved, Layout::from_size_align(3 << 20, 1 << shift).unwrap());
        }
    }
    let too_aligned = Layout::from_size_align(1, 2 << 20).unwrap();
    // SAFETY: the size is not 0.
    assert!(black_box(unsafe { alloc(too_aligned) }).is_null());
    assert!(proven().allocated_bytes > 0);
}

/// An agent that has given its seat up is served all the same, and what it had cached is back.
pub fn serves_without_a_seat() {
    churn(5);
    let before = proven();
    assert!(leave_heap());
    assert_eq!(proven().workers, before.workers - 1);
    churn(7);
    assert!(leave_heap(), "a second time nothing happens");
    assert_eq!(proven().workers, before.workers - 1);
}

/// What one agent leaves and the next frees.
static MAILBOX: AtomicPtr<Vec<String>> = AtomicPtr::new(std::ptr::null_mut());

/// What a worker of [`agents_come_and_go`] runs between its start and its end.
#[wasm_bindgen]
pub fn heap_visit(agent: usize) {
    set_heap_may_wait(true);
    churn(agent);
    let own = (0..100).map(|index| format!("{agent} {index}")).collect();
    take(MAILBOX.swap(Box::into_raw(Box::new(own)), Ordering::AcqRel));
}

fn take(left: *mut Vec<String>) {
    if !left.is_null() {
        // SAFETY: came out of a box by way of the mailbox, which this agent took it from.
        let left = unsafe { Box::from_raw(left) };
        assert_eq!(left.len(), 100);
    }
}

/// Starts some workers on this memory, each of which runs `heap_visit`, leaves the heap, and gives
/// its stack and thread-local data back: the stack after its thread-local data is gone.
const START: &str = r#"
return (async () => {
  const url = new URL('/wasm-bindgen-test', self.location.origin).href;
  const source = `
    import { initSync, heap_visit, leave_heap } from "${url}";
    self.onmessage = ({ data: { module, memory, agent } }) => {
      const exports = initSync({ module, memory, thread_stack_size: 131072 });
      heap_visit(agent);
      const left = leave_heap();
      exports.__wbindgen_thread_destroy();
      self.postMessage({ left });
    };
    self.postMessage({ ready: true });`;
  const script = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
  const run = (agent) => new Promise((resolve, reject) => {
    const worker = new Worker(script, { type: 'module' });
    worker.onerror = (event) => reject(new Error(`worker ${agent}: ${event.message}`));
    worker.onmessage = ({ data }) => {
      if (data.ready) {
        worker.postMessage({ module, memory, agent });
      } else {
        worker.terminate();
        resolve(data.left);
      }
    };
  });
  const left = await Promise.all(Array.from({ length: count }, (_, agent) => run(agent + 1)));
  return left.every((each) => each);
})();
"#;

/// Agents start without thread-local data, allocate and free each other's objects, and end without
/// such data: nothing of theirs stays.
pub async fn agents_come_and_go() {
    const AGENTS: u32 = 4;
    /// What the event loop and the test's own promises may hold in between; far below one stack.
    const SLACK: u64 = 32 << 10;
    let start = js_sys::Function::new_with_args("module, memory, count", START);
    let (module, memory) = (wasm_bindgen::module(), wasm_bindgen::memory());
    let mut before = None;
    for _ in 0..3 {
        let started = start
            .call3(&JsValue::NULL, &module, &memory, &AGENTS.into())
            .unwrap();
        let left = wasm_bindgen_futures::JsFuture::from(js_sys::Promise::from(started))
            .await
            .unwrap();
        assert_eq!(left, JsValue::TRUE);
        take(MAILBOX.swap(std::ptr::null_mut(), Ordering::AcqRel));
        let stats = proven();
        let (bytes, workers) = *before.get_or_insert((stats.allocated_bytes, stats.workers));
        assert_eq!(stats.workers, workers);
        assert!(
            stats.allocated_bytes < bytes + SLACK,
            "{}",
            stats.allocated_bytes
        );
    }
}
