//! What a context that may not wait meets when others hold the heap: an answer, in bounded time,
//! that loses nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use warena::{
    AllocError, Arena, ChunkSource, Config, Context, FreeError, MAX_BLOCK_BYTES, MAX_ORDER,
};
use warena_tests::{Extent, GatedSource, Object, arena, free_blocks, prove, prove_idle, soak};

const MEMORY: u64 = 32 << 20;
const LARGEST: usize = MAX_BLOCK_BYTES as usize;

#[test]
fn a_context_that_may_not_wait_is_told_that_the_heap_is_busy() {
    let source = GatedSource::new(MEMORY);
    let arena = arena(&source, Config::DEFAULT);
    // SAFETY: the address is that of a live arena on this source.
    let hurried = unsafe { Arena::open(&source, arena.address(), Context::NoWait) }.unwrap();
    let worker = hurried.attach().unwrap();
    let large = Object::alloc(&worker, 5000, 1, Extent::Whole).unwrap();
    let small = Object::alloc(&worker, 64, 2, Extent::Whole).unwrap();
    source.shut();
    std::thread::scope(|scope| {
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
        assert_eq!(worker.free(large.pointer()), Err(FreeError::Busy));
        assert_eq!(worker.alloc(5000), Err(AllocError::Busy));
        assert!(worker.free_bulk(&[large.pointer()], |_, _| ()).is_err());
        assert!(worker.flush().is_err());
        assert!(hurried.attach().is_err());
        assert_eq!(arena.stats(), before, "a refused call changed something");
        large.check();
        // What the cache can do needs no heap.
        small.free(&worker);
        let small = Object::alloc(&worker, 64, 3, Extent::Whole).unwrap();
        small.free(&worker);
        source.open();
        holder.join().unwrap();
    });
    large.free(&worker);
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn a_refusal_in_the_middle_of_the_last_resort_loses_nothing() {
    // Every order cached, and much in transfer: gathering it takes the heap many times, and in
    // between another worker takes the heap and keeps it.
    let config = Config {
        cached_orders: 8,
        capacity: 64,
        batch: 32,
        transfer_capacity: 512,
        max_workers: 4,
    };
    let source = GatedSource::new(256 << 20);
    let arena = arena(&source, config);
    // SAFETY: the address is that of a live arena on this source.
    let hurried = unsafe { Arena::open(&source, arena.address(), Context::NoWait) }.unwrap();
    let worker = hurried.attach().unwrap();
    let mut busy = 0;
    for round in 0..soak(20) {
        let mut objects = Vec::new();
        for order in 0..config.cached_orders {
            let size = 16 << order;
            objects
                .extend((0..600).map(|_| {
                    Object::alloc(&worker, size, u64::from(order), Extent::Ends).unwrap()
                }));
        }
        // No block of the largest order is left, so asking for one is asking for memory.
        let mut large = Vec::new();
        while free_blocks(source.memory(), &arena).any(|(_, order)| order == MAX_ORDER) {
            large.push(Object::alloc(&worker, LARGEST, 1, Extent::Ends).unwrap());
        }
        objects.into_iter().for_each(|object| object.free(&worker));
        let in_transfer = prove(&arena).in_transfer_bytes;
        assert!(in_transfer > 0);
        source.shut();
        let (ready, go) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let holder = scope.spawn(|| {
                let worker = arena.attach().unwrap();
                ready.store(true, Ordering::Release);
                while !go.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
                let object = Object::alloc(&worker, LARGEST, 2, Extent::Ends).unwrap();
                object.free(&worker);
            });
            while !ready.load(Ordering::Acquire) {
                std::hint::spin_loop();
            }
            go.store(true, Ordering::Release);
            // Vary who comes first.
            (0..round * 100).for_each(|_| std::hint::spin_loop());
            match worker.alloc(LARGEST) {
                Ok(object) => worker.free(object.as_ptr()).unwrap(),
                Err(AllocError::Busy) => busy += 1,
                Err(error) => assert_eq!(error, AllocError::OutOfMemory),
            }
            source.open();
            holder.join().unwrap();
        });
        prove(&arena);
        large.into_iter().for_each(|object| object.free(&worker));
        worker.flush().unwrap();
    }
    assert!(busy > 0, "the heap was never busy");
    drop(worker);
    prove_idle(&arena);
}
