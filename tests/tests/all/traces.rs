//! Real programs' allocations, replayed from their traces: by one worker, and spread over four
//! that free each other's objects. Every object is checked when it is moved and when it is freed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use warena::{AllocError, ChunkSource, Config, MappedMemory, Worker};
use warena_tests::{
    CONFIGS, Extent, Object, Operation, TRACES, Trace, arena, block_bytes, prove, prove_idle,
};

const MEMORY: u64 = 64 << 20;
const WORKERS: usize = 4;
/// Steps in a row that one worker makes, before the next one's turn.
const RUN: usize = 48;

/// Makes one step on the object that has its id at the moment, and returns the one after.
fn make<S: ChunkSource>(
    worker: &Worker<'_, S>,
    operation: Operation,
    held: Option<Object>,
    stamp: u64,
) -> Option<Object> {
    // SAFETY: each pointer was just allocated for that many bytes.
    let adopt = |pointer, size| unsafe { Object::adopt(pointer, size, stamp, Extent::Whole) };
    let fresh = |result: Result<_, AllocError>, size| {
        assert!(held.is_none(), "step {stamp}: the id is in use");
        let pointer = result.unwrap_or_else(|error| panic!("step {stamp}, {size:#x}: {error}"));
        Some(adopt(pointer, size))
    };
    match operation {
        Operation::Alloc(size) => {
            let size = size.max(1);
            fresh(worker.alloc(size), size)
        }
        Operation::Zeroed(size) => {
            let size = size.max(1);
            let result = worker.alloc_zeroed(size).inspect(|pointer| {
                // SAFETY: just allocated for that many bytes.
                let bytes = unsafe { std::slice::from_raw_parts(pointer.as_ptr(), size) };
                assert!(bytes.iter().all(|&byte| byte == 0), "step {stamp}");
            });
            fresh(result, size)
        }
        Operation::Aligned(size, align) => {
            let size = size.max(1);
            let object = fresh(worker.alloc_aligned(size, align), size)?;
            assert_eq!(object.pointer() as usize % align, 0);
            Some(object)
        }
        Operation::Realloc(size) => {
            let mut object = held.expect("a live object is resized");
            let result = object.realloc(worker, size.max(1), stamp);
            result.unwrap_or_else(|error| panic!("step {stamp}, {size:#x}: {error}"));
            Some(object)
        }
        Operation::Free => {
            held.expect("a live object is freed").free(worker);
            None
        }
    }
}

#[test]
fn one_worker_replays_every_trace() {
    for name in TRACES {
        let trace = Trace::read(name);
        let memory = MappedMemory::new(MEMORY).unwrap();
        for config in [Config::DEFAULT, Config::NO_CACHES] {
            let arena = arena(&memory, config);
            let worker = arena.attach().unwrap();
            let mut objects: Vec<Option<Object>> = (0..trace.ids).map(|_| None).collect();
            let (mut requested, mut blocks) = (0, 0);
            let mut peak = 0;
            for (stamp, step) in (0..).zip(&trace.steps) {
                let before = objects[step.id].take();
                for object in before.iter() {
                    requested -= object.size();
                    blocks -= block_bytes(object.size());
                }
                let after = make(&worker, step.operation, before, stamp);
                for object in after.iter() {
                    requested += object.size();
                    blocks += block_bytes(object.size());
                }
                objects[step.id] = after;
                peak = peak.max(requested);
                if stamp % 50_000 == 0 {
                    assert_eq!(prove(&arena).allocated_bytes, blocks as u64, "{name}");
                }
            }
            assert!(objects.iter().all(Option::is_none), "{name} leaks");
            assert!(peak >= trace.peak_bytes, "{name}: {peak}");
            drop(worker);
            prove_idle(&arena);
            // SAFETY: nothing is attached or allocated.
            unsafe { arena.destroy() }.unwrap();
        }
    }
}

/// What workers share of one id: how many of its steps are done, and its object.
#[derive(Default)]
struct Shared {
    done: AtomicU32,
    object: Mutex<Option<Object>>,
}

#[test]
fn four_workers_replay_every_trace_and_free_each_others_objects() {
    for name in TRACES {
        let trace = Trace::read(name);
        let memory = MappedMemory::new(MEMORY).unwrap();
        // Each step waits for the one before on the same id, whoever makes that.
        let mut counts = vec![0; trace.ids];
        let turns: Vec<u32> = trace
            .steps
            .iter()
            .map(|step| {
                counts[step.id] += 1;
                counts[step.id] - 1
            })
            .collect();
        for (config_name, config) in CONFIGS {
            let arena = arena(&memory, config);
            let ids: Vec<Shared> = (0..trace.ids).map(|_| Shared::default()).collect();
            // A worker that fails must not leave the others waiting for its steps for ever.
            let failed = AtomicBool::new(false);
            std::thread::scope(|scope| {
                for number in 0..WORKERS {
                    let (arena, ids, trace, turns) = (&arena, &ids, &trace, &turns);
                    let failed = &failed;
                    scope.spawn(move || {
                        let _alarm = Alarm(failed);
                        let worker = arena.attach().unwrap();
                        for (stamp, step) in trace.steps.iter().enumerate() {
                            if stamp / RUN % WORKERS != number {
                                continue;
                            }
                            let id = &ids[step.id];
                            while id.done.load(Ordering::Acquire) != turns[stamp] {
                                assert!(!failed.load(Ordering::Relaxed), "another worker failed");
                                std::thread::yield_now();
                            }
                            let mut object = id.object.lock().unwrap();
                            *object = make(&worker, step.operation, object.take(), stamp as u64);
                            drop(object);
                            id.done.store(turns[stamp] + 1, Ordering::Release);
                        }
                    });
                }
            });
            let leaked = ids.iter().any(|id| id.object.lock().unwrap().is_some());
            assert!(!leaked, "{name} leaks under {config_name}");
            let stats = arena.stats();
            if config.cached_orders > 0 {
                assert!(stats.cache_hits > 0, "{config_name}");
            }
            prove_idle(&arena);
            // SAFETY: nothing is attached or allocated.
            unsafe { arena.destroy() }.unwrap();
        }
    }
}

/// Raised when its thread ends by a panic.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}
