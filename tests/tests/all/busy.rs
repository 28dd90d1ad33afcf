//! What a context that may not wait meets when others hold the heap: an answer, in bounded time,
//! that loses nothing.

use warena::{AllocError, Arena, Config, Context, FreeError, MAX_BLOCK_BYTES};
use warena_tests::{Extent, GatedSource, NARROW, Object, arena, hurried, prove_idle};

const MEMORY: u64 = 32 << 20;

#[test]
fn a_context_that_may_not_wait_is_told_that_the_heap_is_busy() {
    let source = GatedSource::new(MEMORY);
    let arena = arena(&source, Config::DEFAULT);
    // SAFETY: the address is that of a live arena on this source.
    let hurried = unsafe { Arena::open(&source, arena.address(), Context::NoWait) }.unwrap();
    let worker = hurried.attach().unwrap();
    let large = Object::alloc(&worker, 5000, 1, Extent::Whole).unwrap();
    let bulk = Object::alloc(&worker, 5000, 4, Extent::Whole).unwrap();
    let small = Object::alloc(&worker, 64, 2, Extent::Whole).unwrap();
    std::thread::scope(|scope| {
        let gate = source.shut();
        let holder = scope.spawn(|| {
            let worker = arena.attach().unwrap();
            let objects: Vec<_> = (0..4)
                .map(|index| {
                    let size = MAX_BLOCK_BYTES as usize;
                    Object::alloc(&worker, size, index, Extent::Ends).unwrap()
                })
                .collect();
            objects.into_iter().for_each(|object| object.free(&worker));
        });
        // The other thread now holds the heap lock, in the middle of growing.
        source.wait_for_holder();
        let before = arena.stats();
        assert_eq!(worker.alloc(5000), Err(AllocError::Busy));
        assert!(worker.flush().is_err());
        assert!(hurried.attach().is_err());
        assert_eq!(arena.stats(), before, "a refused call changed something");
        large.check();
        // A free is deferred: it succeeds, and a second one is seen.
        assert_eq!(worker.free(large.pointer()), Ok(()));
        assert_eq!(worker.free(large.pointer()), Err(FreeError::Deferred));
        assert_eq!(worker.free_bulk(&[bulk.pointer()], |_, _| ()), 1);
        assert_eq!(worker.free(bulk.pointer()), Err(FreeError::Deferred));
        // Each five eighths of 8 KiB.
        assert_eq!(arena.stats().deferred_bytes, 2 * 5120);
        // What the cache can do needs no heap.
        small.free(&worker);
        let small = Object::alloc(&worker, 64, 3, Extent::Whole).unwrap();
        small.free(&worker);
        drop(gate);
        holder.join().unwrap();
    });
    drop(worker);
    let idle = prove_idle(&arena);
    assert_eq!(idle.deferred_bytes, 0);
    assert_eq!(arena.stats().deferred_frees, 2);
}

#[test]
fn a_refill_or_a_spill_that_finds_the_heap_busy_changes_nothing() {
    let source = GatedSource::new(MEMORY);
    let capacity = NARROW.capacity as usize;
    let without_transfer = Config {
        transfer_capacity: 0,
        ..NARROW
    };
    for config in [without_transfer, NARROW] {
        let arena = arena(&source, config);
        // SAFETY: the address is that of a live arena on this source.
        let hurried = unsafe { Arena::open(&source, arena.address(), Context::NoWait) }.unwrap();
        let worker = hurried.attach().unwrap();
        let mut objects: Vec<_> = (0..=capacity)
            .map(|index| Object::alloc(&worker, 64, index as u64, Extent::Whole).unwrap())
            .collect();
        worker.flush().unwrap();
        let last = objects.pop().unwrap();
        objects.into_iter().for_each(|object| object.free(&worker));
        std::thread::scope(|scope| {
            let gate = source.shut();
            let holder = scope.spawn(|| {
                let worker = arena.attach().unwrap();
                let objects = [(); 4].map(|()| {
                    let size = MAX_BLOCK_BYTES as usize;
                    Object::alloc(&worker, size, 1, Extent::Ends).unwrap()
                });
                objects.into_iter().for_each(|object| object.free(&worker));
            });
            source.wait_for_holder();
            let before = arena.stats();
            assert_eq!(worker.alloc(1024), Err(AllocError::Busy));
            assert_eq!(arena.stats(), before);
            if config.transfer_capacity == 0 {
                // The spill found no way out, so the object itself is deferred.
                assert_eq!(worker.free(last.pointer()), Ok(()));
                assert_eq!(worker.free(last.pointer()), Err(FreeError::Deferred));
                assert_eq!(arena.stats().cached_bytes, before.cached_bytes);
            } else {
                assert_eq!(worker.free(last.pointer()), Ok(()));
            }
            drop(gate);
            holder.join().unwrap();
        });
        drop(worker);
        prove_idle(&arena);
        // SAFETY: nothing is attached or allocated.
        unsafe { arena.destroy() }.unwrap();
    }
}

#[test]
fn a_small_object_comes_from_a_larger_cache_while_the_heap_is_busy() {
    let source = GatedSource::new(MEMORY);
    let arena = arena(&source, NARROW);
    let page = hurried(&source, &arena);
    let worker = page.attach().unwrap();
    let other = arena.attach().unwrap();
    // Two in this worker's cache, and a batch in the transfer cache, of larger orders.
    let cached = [300, 300].map(|size| Object::alloc(&worker, size, 1, Extent::Whole).unwrap());
    cached.into_iter().for_each(|object| object.free(&worker));
    let spilled: Vec<_> = (0..17)
        .map(|stamp| Object::alloc(&other, 2000, stamp, Extent::Whole).unwrap())
        .collect();
    spilled.into_iter().for_each(|object| object.free(&other));
    let found = std::cell::RefCell::new(Vec::new());
    source.while_locked(&arena, || {
        let mut objects = found.borrow_mut();
        loop {
            match Object::alloc(&worker, 16, 9, Extent::Whole) {
                Ok(object) => objects.push(object),
                Err(error) => break assert_eq!(error, AllocError::Busy),
            }
        }
        // A refill of eight was cached by the first of its two, and a batch passed on by the other.
        assert_eq!(objects.len(), 8 + 8);
        let larger = objects
            .iter()
            .map(|object| worker.usable_size(object.pointer()));
        assert!(larger.eq([512; 8].into_iter().chain([2048; 8]).map(Ok)));
    });
    found
        .into_inner()
        .into_iter()
        .for_each(|object| object.free(&worker));
    drop((worker, other));
    prove_idle(&arena);
}
