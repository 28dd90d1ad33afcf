//! Four Web Workers on one shared memory, each in a seat of its own, and the agent that started
//! them alongside. Every object carries a stamp of who allocated it; who frees it checks it.

use std::cell::RefCell;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use warena::{AllocError, Arena, Config, Context, WasmMemory, Worker};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};

const WORKERS: u32 = 4;
const CYCLES: u32 = 1000;
const OBJECTS: u32 = 40;

/// Where each agent leaves a list of objects, and takes the one that another left: the address
/// of the first, which holds the next one's.
static MAILBOX: AtomicU32 = AtomicU32::new(0);

/// An object as its owner stamps it: the next of its list, and a mark that follows from address
/// and owner.
#[repr(C)]
struct Stamped {
    next: u32,
    owner: u32,
    mark: u32,
}

fn mark(address: u32, owner: u32) -> u32 {
    address.rotate_left(owner) ^ 0x5eed_0000 ^ owner
}

/// Starts the workers: each runs `producer` of this very module on the same memory. The promise
/// is for how many violations they saw.
const START: &str = r#"
return (async () => {
  const url = new URL('/wasm-bindgen-test', self.location.origin).href;
  const source = `
    import { initSync, producer } from "${url}";
    self.onmessage = ({ data: { module, memory, header, agent } }) => {
      initSync({ module, memory, thread_stack_size: 131072 });
      self.postMessage({ violations: producer(header, agent) });
    };
    self.postMessage({ ready: true });`;
  const script = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
  const run = (agent) => new Promise((resolve, reject) => {
    const worker = new Worker(script, { type: 'module' });
    worker.onerror = (event) => reject(new Error(`worker ${agent}: ${event.message}`));
    worker.onmessage = ({ data }) => {
      if (data.ready) {
        worker.postMessage({ module, memory, header, agent });
      } else {
        worker.terminate();
        resolve(data.violations);
      }
    };
  });
  const results = await Promise.all(Array.from({ length: count }, (_, agent) => run(agent + 1)));
  return results.reduce((sum, violations) => sum + violations, 0);
})();
"#;

/// What a worker runs; how many stamps did not hold.
#[wasm_bindgen]
pub fn producer(header: u32, agent: u32) -> u32 {
    // SAFETY: the address of the live arena that the starting agent made.
    let arena = unsafe { Arena::open(WasmMemory, header, Context::MayWait) }.unwrap();
    let worker = arena.attach().unwrap();
    let violations = (0..CYCLES)
        .map(|cycle| malloc_free(&worker, agent, cycle) + malloc_xfree(&worker, agent, cycle))
        .sum();
    worker.detach().map_err(|(busy, _)| busy).unwrap();
    violations
}

/// Tries again what a context that may not wait was told to try again.
fn alloc(worker: &Worker<'_, WasmMemory>, bytes: u32) -> NonNull<u8> {
    loop {
        match worker.alloc(bytes as usize) {
            Err(AllocError::Busy) => std::hint::spin_loop(),
            object => return object.unwrap(),
        }
    }
}

fn size(agent: u32, cycle: u32, index: u32) -> u32 {
    12 + (agent * 7919 + cycle * 104_729 + index * 1299) % 3000
}

fn stamp(worker: &Worker<'_, WasmMemory>, agent: u32, next: u32, bytes: u32) -> u32 {
    let object = alloc(worker, bytes).cast::<Stamped>();
    let address = object.as_ptr() as u32;
    // SAFETY: the object has at least 12 bytes, at a multiple of 16, and is this agent's.
    unsafe {
        object.write(Stamped {
            next,
            owner: agent,
            mark: mark(address, agent),
        });
    }
    address
}

/// Frees a list; how many of its stamps did not hold.
fn free_list(worker: &Worker<'_, WasmMemory>, first: u32) -> u32 {
    let mut address = first;
    let mut violations = 0;
    while address != 0 {
        // SAFETY: an object of a list that this agent has taken for itself.
        let Stamped {
            next,
            owner,
            mark: found,
        } = unsafe { (address as *const Stamped).read() };
        violations += u32::from(found != mark(address, owner));
        worker.free(address as *mut u8).unwrap();
        address = next;
    }
    violations
}

fn list(worker: &Worker<'_, WasmMemory>, agent: u32, cycle: u32) -> u32 {
    (0..OBJECTS).fold(0, |next, index| {
        stamp(worker, agent, next, size(agent, cycle, index))
    })
}

/// Allocates a list and frees it.
fn malloc_free(worker: &Worker<'_, WasmMemory>, agent: u32, cycle: u32) -> u32 {
    free_list(worker, list(worker, agent, cycle))
}

/// Allocates a list, leaves it to the others, and frees the one that was there.
fn malloc_xfree(worker: &Worker<'_, WasmMemory>, agent: u32, cycle: u32) -> u32 {
    let own = list(worker, agent, cycle);
    free_list(worker, MAILBOX.swap(own, Ordering::AcqRel))
}

async fn pause() {
    let timer = js_sys::Function::new_no_args("return new Promise((done) => setTimeout(done, 0))");
    let promise = timer.call0(&JsValue::NULL).unwrap();
    JsFuture::from(js_sys::Promise::from(promise))
        .await
        .unwrap();
}

/// Runs the four workers and, at the same time, this agent in its own seat and `context`; then
/// proves the arena. The agent works in bursts between which its event loop runs.
pub async fn four_workers_and_this_agent(context: Context) {
    let arena = Arena::create(WasmMemory, Config::DEFAULT, context).unwrap();
    let start = js_sys::Function::new_with_args("module, memory, header, count", START);
    let arguments = js_sys::Array::of4(
        &wasm_bindgen::module(),
        &wasm_bindgen::memory(),
        &arena.address().into(),
        &WORKERS.into(),
    );
    let promise = js_sys::Promise::from(start.apply(&JsValue::NULL, &arguments).unwrap());
    let result = Rc::new(RefCell::new(None));
    let finished = Rc::clone(&result);
    spawn_local(async move { *finished.borrow_mut() = Some(JsFuture::from(promise).await) });

    let worker = arena.attach().unwrap();
    let mut violations = 0;
    let mut cycle = 0;
    while result.borrow().is_none() {
        violations += malloc_free(&worker, 0, cycle) + malloc_xfree(&worker, 0, cycle);
        cycle += 1;
        pause().await;
    }
    let theirs = result.borrow_mut().take().unwrap().unwrap();
    assert_eq!(theirs.as_f64(), Some(0.0), "violations of the workers");
    violations += free_list(&worker, MAILBOX.swap(0, Ordering::AcqRel));
    assert_eq!(violations, 0, "violations of this agent");
    drop(worker);

    let stats = arena.stats();
    let allocations = u64::from((WORKERS * CYCLES + cycle) * 2 * OBJECTS);
    assert_eq!(
        stats.cache_allocations + stats.direct_allocations,
        allocations,
        "every allocation is counted once"
    );
    let verification = arena.verify().unwrap();
    assert_eq!(
        (
            verification.allocated_objects,
            verification.cached_bytes,
            stats.workers
        ),
        (0, 0, 0)
    );
}
