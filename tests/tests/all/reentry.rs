//! Row 17 of the failures of other allocators: code of the program that runs inside a call and
//! calls the allocator again, by the worker that is in the middle of it, by another of the thread, or
//! by the arena. It is served or told that the heap is busy, and never waits for itself.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use warena::{
    AllocError, Arena, AttachError, Busy, ChunkRun, ChunkSource, Config, MAX_BLOCK_BYTES,
    MappedMemory, Memory, Violation, Worker,
};
use warena_tests::{CONFIGS, Extent, Object, Rng, arena, prove, prove_idle, soak};

type Hook = fn(&Worker<'_, &Calling>);

thread_local! {
    /// The worker that chunk sources of this thread call back, and what they do with it.
    static CALLED: Cell<Option<(*const (), Hook)>> = const { Cell::new(None) };
    /// Objects that a hook allocated and nobody freed yet.
    static KEPT: Cell<Vec<Object>> = const { Cell::new(Vec::new()) };
}

/// Mapped memory that calls the worker of its thread whenever it gives a chunk or takes one.
struct Calling {
    mapped: MappedMemory,
    calls: AtomicU32,
}

impl Calling {
    fn new() -> Self {
        Self {
            mapped: MappedMemory::new(32 << 20).unwrap(),
            calls: AtomicU32::new(0),
        }
    }

    fn call(&self) {
        if let Some((worker, hook)) = CALLED.get() {
            self.calls.fetch_add(1, Relaxed);
            // SAFETY: `with_hook` lends the worker for as long as it is set.
            hook(unsafe { &*worker.cast::<Worker<'_, &Self>>() });
        }
    }
}

// SAFETY: chunks are those of the mapped memory.
unsafe impl ChunkSource for Calling {
    fn memory(&self) -> Memory {
        self.mapped.memory()
    }

    fn acquire(&self, count: u32, claimant: u32) -> Option<ChunkRun> {
        self.call();
        self.mapped.acquire(count, claimant)
    }

    unsafe fn release(&self, chunk: u32, count: u32) {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.mapped.release(chunk, count) };
        self.call();
    }

    unsafe fn reclaim(&self, claimant: u32, uses: impl Fn(u32) -> bool) -> u32 {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.mapped.reclaim(claimant, uses) }
    }
}

/// Runs `test` while chunk sources of this thread call `hook` with `worker`.
fn with_hook(worker: &Worker<'_, &Calling>, hook: Hook, test: impl FnOnce()) {
    struct Unset;
    impl Drop for Unset {
        fn drop(&mut self) {
            CALLED.set(None);
        }
    }
    let _unset = Unset;
    CALLED.set(Some((std::ptr::from_ref(worker).cast(), hook)));
    test();
}

/// Allocates and frees of several sizes, cached and not, and keeps some for the next call.
fn allocate_and_free(worker: &Worker<'_, &Calling>) {
    let mut kept = KEPT.take();
    kept.drain(kept.len() / 2..)
        .for_each(|object| object.free(worker));
    for size in [16, 64, 64, 2048, 5000, 3 << 20] {
        for _ in 0..6 {
            match Object::alloc(worker, size, 7, Extent::Ends) {
                Ok(object) => kept.push(object),
                // Behind the caches is the heap, whose lock this very worker holds.
                Err(error) => assert_eq!(error, AllocError::Busy),
            }
            assert!(
                worker.alloc_nowait(size).is_ok_and(|pointer| {
                    worker.free_nowait(pointer.as_ptr()).unwrap();
                    true
                }) || worker.flush().is_err()
            );
        }
    }
    KEPT.set(kept);
}

#[test]
fn bug_17_a_chunk_source_that_calls_its_worker_back_never_deadlocks() {
    for (name, config) in CONFIGS {
        let source = Calling::new();
        let arena = arena(&source, config);
        let worker = arena.attach().unwrap();
        let mut rng = Rng::new(17);
        let mut objects: Vec<Object> = Vec::new();
        with_hook(&worker, allocate_and_free, || {
            for step in 0..soak(4_000) {
                let size = if rng.below(20) == 0 {
                    (1 << 20) + rng.below(1 << 21)
                } else {
                    rng.size(15)
                };
                match rng.below(8) {
                    0..=2 => {
                        objects.extend(Object::alloc(&worker, size, step as u64, Extent::Ends))
                    }
                    3 if step % 16 == 0 => worker.flush().unwrap(),
                    4 if size < 4096 => {
                        let reserved = worker.reserve(size, config.capacity as usize);
                        assert!(matches!(
                            reserved,
                            Ok(()) | Err(AllocError::NotCached | AllocError::OutOfMemory)
                        ));
                    }
                    _ if !objects.is_empty() => {
                        let object = objects.swap_remove(rng.below(objects.len()));
                        object.free(&worker);
                    }
                    _ => {}
                }
            }
            objects.drain(..).for_each(|object| object.free(&worker));
            worker.flush().unwrap();
        });
        KEPT.take()
            .into_iter()
            .for_each(|object| object.free(&worker));
        assert!(source.calls.load(Relaxed) > 100, "{name}");
        prove(&arena);
        drop(worker);
        prove_idle(&arena);
        // SAFETY: nothing is attached or allocated.
        unsafe { arena.destroy() }.unwrap();
    }
}

#[test]
fn bug_17_a_callback_that_hears_of_a_bad_free_may_allocate() {
    for (name, config) in CONFIGS {
        let source = Calling::new();
        let arena = arena(&source, config);
        let worker = arena.attach().unwrap();
        let pointers: Vec<_> = (0..50)
            .map(|_| worker.alloc(64).unwrap().as_ptr())
            .collect();
        let twice = [&pointers[..], &pointers].concat();
        let (mut heard, mut objects) = (0, Vec::new());
        let freed = worker.free_bulk(&twice, |_, _| {
            heard += 1;
            for size in [16, 5000, 2 << 20] {
                match Object::alloc(&worker, size, 1, Extent::Ends) {
                    Ok(object) if heard % 2 == 0 => object.free(&worker),
                    Ok(object) => objects.push(object),
                    Err(error) => assert_eq!(error, AllocError::Busy),
                }
            }
            assert!(
                worker.flush().is_err(),
                "{name}: this very call holds the lock"
            );
            let nested = worker.free_bulk(&[pointers[0]], |_, _| ());
            assert!(nested <= 1);
        });
        assert_eq!((freed, heard), (50, 50), "{name}");
        objects.into_iter().for_each(|object| object.free(&worker));
        drop(worker);
        prove_idle(&arena);
    }
}

#[test]
fn bug_17_a_panic_inside_a_call_leaves_the_heap_usable() {
    // The hook of the panic allocates and frees, as one that formats a message does, and so does
    // the unwinding stack.
    let source = Calling::new();
    let arena = arena(&source, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    let kept = [16, 64, 5000].map(|size| Object::alloc(&worker, size, 1, Extent::Whole).unwrap());
    for in_callback in [false, true] {
        let before = arena.stats().allocated_bytes;
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let bad: Hook = |worker| {
                allocate_and_free(worker);
                std::panic::resume_unwind(Box::new("in the middle of growing"));
            };
            if in_callback {
                let pointer = std::ptr::without_provenance_mut(16);
                worker.free_bulk(&[pointer], |_, error| {
                    allocate_and_free(&worker);
                    std::panic::resume_unwind(Box::new(error));
                });
            } else {
                with_hook(&worker, bad, || {
                    while worker.alloc(MAX_BLOCK_BYTES as usize / 2 + 1).is_ok() {}
                });
            }
        }));
        assert!(panicked.is_err());
        KEPT.take()
            .into_iter()
            .for_each(|object| object.free(&worker));
        // The lock was let go, and nothing was half done.
        prove(&arena);
        kept.iter().for_each(Object::check);
        let leaked = arena.stats().allocated_bytes - before;
        assert_eq!(
            leaked % u64::from(MAX_BLOCK_BYTES / 8 * 5),
            0,
            "only what the loop kept: {leaked:#x}"
        );
    }
    kept.into_iter().for_each(|object| object.free(&worker));
    drop(worker);
    prove(&arena);
}

#[test]
fn bug_17_a_flush_returns_what_a_callback_freed_meanwhile() {
    let source = Calling::new();
    let config = Config {
        cached_orders: 12,
        ..Config::SPILL_ONLY
    };
    let arena = arena(&source, config);
    let worker = arena.attach().unwrap();
    KEPT.set(
        (0..8)
            .map(|stamp| Object::alloc(&worker, 16, stamp, Extent::Ends).unwrap())
            .collect(),
    );
    worker.flush().unwrap();
    // The largest cached objects, the last of which hold on to chunks of their own.
    let objects: Vec<_> = (0..150)
        .map(|stamp| Object::alloc(&worker, 32 << 10, stamp, Extent::Ends).unwrap())
        .collect();
    objects.into_iter().for_each(|object| object.free(&worker));
    let free_one: Hook = |worker| {
        let mut kept = KEPT.take();
        kept.pop()
            .into_iter()
            .for_each(|object| object.free(worker));
        KEPT.set(kept);
    };
    with_hook(&worker, free_one, || worker.flush().unwrap());
    assert!(source.calls.load(Relaxed) > 0, "no chunk went back");
    assert_eq!(prove(&arena).cached_bytes, 0);
    let kept = KEPT.take();
    kept.into_iter().for_each(|object| object.free(&worker));
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn bug_17_a_stack_that_a_callback_fills_while_the_lock_is_taken_loses_nothing() {
    for reserve in [true, false] {
        let source = Calling::new();
        let arena = arena(&source, Config::SPILL_ONLY);
        let worker = arena.attach().unwrap();
        let small: Vec<_> = (0..6)
            .map(|stamp| Object::alloc(&worker, 64, stamp, Extent::Ends).unwrap())
            .collect();
        worker.flush().unwrap();
        let size = MAX_BLOCK_BYTES as usize;
        let large = (0..5).map(|stamp| Object::alloc(&worker, size, stamp, Extent::Ends).unwrap());
        KEPT.set(large.collect());
        let free_all: Hook = |worker| {
            KEPT.take()
                .into_iter()
                .for_each(|object| object.free(worker));
        };
        let mut last = None;
        with_hook(&worker, free_all, || last = worker.alloc(size).ok());
        let deferred = arena.stats().deferred_bytes;
        assert_eq!(
            deferred,
            5 * size as u64,
            "freed while the heap was growing"
        );
        // Taking the lock drains these: their chunks go back, and each time a small object is freed
        // into the very stack that is about to be filled.
        KEPT.set(small);
        let free_one: Hook = |worker| {
            let mut kept = KEPT.take();
            kept.pop()
                .into_iter()
                .for_each(|object| object.free(worker));
            KEPT.set(kept);
        };
        with_hook(&worker, free_one, || {
            if reserve {
                worker.reserve(64, 8).unwrap();
            } else {
                let object = Object::alloc(&worker, 64, 9, Extent::Ends).unwrap();
                object.free(&worker);
            }
        });
        prove(&arena);
        let kept = KEPT.take();
        assert!(kept.len() < 6, "no chunk went back");
        kept.into_iter().for_each(|object| object.free(&worker));
        last.iter()
            .for_each(|block| worker.free(block.as_ptr()).unwrap());
        drop(worker);
        prove_idle(&arena);
    }
}

thread_local! {
    /// An arena that a hook of this thread calls, and a worker of it other than the one in a call.
    static OTHERS: Cell<Option<(*const (), *const ())>> = const { Cell::new(None) };
    /// How often the hook was told that the heap is busy.
    static REFUSED: Cell<u32> = const { Cell::new(0) };
}

/// Calls everything of the thread that takes the heap lock but the worker in the middle of a call.
fn call_the_others(_: &Worker<'_, &Calling>) {
    let Some((arena, worker)) = OTHERS.get() else {
        return;
    };
    // SAFETY: the test lends both for as long as they are set.
    let (arena, worker) = unsafe {
        (
            &*arena.cast::<Arena<&Calling>>(),
            &*worker.cast::<Worker<'_, &Calling>>(),
        )
    };
    let busy = [
        matches!(arena.verify(), Err(Violation::Busy)),
        arena.grow(1) == Err(Busy),
        matches!(arena.attach(), Err(AttachError::Busy)),
        worker.flush() == Err(Busy),
        worker.alloc(5000) == Err(AllocError::Busy),
    ];
    assert!(
        busy.iter().all(|&refused| refused == busy[0]),
        "the lock is the agent's own for all or for none: {busy:?}"
    );
    REFUSED.set(REFUSED.get() + u32::from(busy[0]));
    if let Some(object) = KEPT.take().pop() {
        // Deferred while the lock is held, and done by whoever has it next.
        object.free(worker);
    }
}

#[test]
fn bug_17_a_chunk_source_that_calls_the_arena_or_another_worker_never_deadlocks() {
    let source = Calling::new();
    let arena = arena(&source, Config::NO_CACHES);
    let worker = arena.attach().unwrap();
    let other = arena.attach().unwrap();
    OTHERS.set(Some((
        std::ptr::from_ref(&arena).cast(),
        std::ptr::from_ref(&other).cast(),
    )));
    let mut objects = Vec::new();
    with_hook(&worker, call_the_others, || {
        for round in 0..40 {
            let kept = Object::alloc(&worker, 64, round, Extent::Ends).unwrap();
            KEPT.set(vec![kept]);
            objects.extend(Object::alloc(&worker, 400_000, round, Extent::Ends));
            objects.extend(KEPT.take());
        }
        objects.drain(..).for_each(|object| object.free(&worker));
    });
    OTHERS.set(None);
    assert!(REFUSED.get() > 10, "the hook never ran inside a call");
    KEPT.take()
        .into_iter()
        .for_each(|object| object.free(&worker));
    drop((worker, other));
    prove_idle(&arena);
}
