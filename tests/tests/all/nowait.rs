//! Calls that never wait: what they find, what they leave to the next holder of the heap lock, and
//! that nothing of it is lost or done twice.

use std::sync::Barrier;
use warena::{AllocError, BlockState, CHUNK_BYTES, ChunkSource, Config, FreeError, Violation};
use warena_tests::{
    CONFIGS, Exchange, Extent, GatedSource, Object, Rng, arena, block_bytes, hurried, prove,
    prove_idle, soak,
};

const MEMORY: u64 = 64 << 20;
const CHUNK: usize = CHUNK_BYTES as usize;

#[test]
fn what_is_reserved_can_be_had_while_the_heap_is_locked() {
    let source = GatedSource::new(MEMORY);
    for (name, config) in CONFIGS {
        let arena = arena(&source, config);
        let worker = arena.attach().unwrap();
        let capacity = config.capacity as usize;
        if config.cached_orders == 0 {
            assert_eq!(worker.reserve(64, 1), Err(AllocError::NotCached));
            drop(worker);
            prove_idle(&arena);
            continue;
        }
        for size in [16, 100, 256] {
            worker.reserve(size, capacity).unwrap();
            worker.reserve(size, 1).unwrap();
        }
        prove(&arena);
        let locks = arena.stats().heap_locks;
        let mut objects = Vec::new();
        source.while_locked(&arena, || {
            for size in [16, 100, 256] {
                for stamp in 0..capacity {
                    let pointer = worker.alloc_nowait(size).unwrap_or_else(|error| {
                        panic!("{name}: {size} bytes, number {stamp}: {error}")
                    });
                    // SAFETY: just allocated for `size` bytes.
                    objects.push(unsafe { Object::adopt(pointer, size, 1, Extent::Whole) });
                }
                // One more is not there, and is not waited for.
                assert_eq!(worker.alloc_nowait(size), Err(AllocError::Busy), "{name}");
            }
            assert_eq!(worker.alloc_nowait(5000), Err(AllocError::Busy));
        });
        assert_eq!(arena.stats().heap_locks, locks + 1, "only the holder's");
        objects.into_iter().for_each(|object| object.free(&worker));
        drop(worker);
        prove_idle(&arena);
        // SAFETY: nothing is attached or allocated.
        unsafe { arena.destroy() }.unwrap();
    }
}

#[test]
fn reserving_what_cannot_be_is_refused() {
    let source = GatedSource::new(2 << 20);
    let arena = arena(
        &source,
        Config {
            cached_orders: 12,
            capacity: 256,
            burst_capacity: 256,
            ..Config::DEFAULT
        },
    );
    let worker = arena.attach().unwrap();
    assert_eq!(worker.reserve(0, 1), Err(AllocError::ZeroSize));
    assert_eq!(worker.reserve(CHUNK, 1), Err(AllocError::TooLarge));
    assert_eq!(worker.reserve(usize::MAX, 1), Err(AllocError::TooLarge));
    assert_eq!(worker.reserve(40_000, 1), Err(AllocError::NotCached));
    assert_eq!(worker.reserve(16, 257), Err(AllocError::NotCached));
    worker.reserve(16, 0).unwrap();
    assert_eq!(arena.stats().cached_bytes, 0);
    // The only chunk has less than 256 blocks of 32 KiB: what it had stays cached.
    assert_eq!(worker.reserve(32 << 10, 256), Err(AllocError::OutOfMemory));
    let cached = prove(&arena).cached_bytes;
    assert!(cached > 20 * (32 << 10) && cached < 1 << 20, "{cached:#x}");
    let object = worker.alloc_nowait(32 << 10).unwrap();
    worker.free_nowait(object.as_ptr()).unwrap();
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn a_no_wait_allocation_does_not_grow_the_memory() {
    let source = GatedSource::new(MEMORY);
    for (name, config) in CONFIGS {
        let arena = arena(&source, config);
        let worker = arena.attach().unwrap();
        let mut objects = Vec::new();
        let refused = loop {
            match worker.alloc_nowait(2048) {
                Ok(pointer) => objects.push(pointer.as_ptr()),
                Err(error) => break error,
            }
        };
        assert_eq!(
            (refused, arena.stats().chunks),
            (AllocError::OutOfMemory, 1),
            "{name}"
        );
        assert_eq!(worker.alloc_nowait(2 * CHUNK), Err(AllocError::OutOfMemory));
        assert_eq!(arena.stats().grows, 0, "{name}");
        for pointer in objects {
            worker.free_nowait(pointer).unwrap();
        }
        drop(worker);
        prove_idle(&arena);
        // SAFETY: nothing is attached or allocated.
        unsafe { arena.destroy() }.unwrap();
    }
}

#[test]
fn a_free_that_finds_the_heap_locked_is_deferred_and_seen_as_freed() {
    let source = GatedSource::new(MEMORY);
    for (name, config) in CONFIGS {
        let arena = arena(&source, config);
        let worker = arena.attach().unwrap();
        let sizes = [5000, 16, 100_000, 3 * CHUNK, 64, CHUNK];
        let objects = sizes.map(|size| worker.alloc_aligned(size, 16).unwrap().as_ptr());
        let (mut deferred, mut bytes) = (0, 0);
        source.while_locked(&arena, || {
            for (size, pointer) in sizes.into_iter().zip(objects) {
                worker.free_nowait(pointer).unwrap();
                let again = worker.free_nowait(pointer);
                let is_cached = again == Err(FreeError::Cached);
                if !is_cached {
                    assert_eq!(again, Err(FreeError::Deferred), "{name}: {size:#x}");
                    deferred += 1;
                    bytes += block_bytes(size) as u64;
                }
                let inside = pointer.wrapping_add((size / 2) & !15);
                assert!(worker.free_nowait(inside).is_err(), "{name}: {size:#x}");
                assert!(worker.usable_size(pointer).is_err());
                assert!(worker.realloc(pointer, 1).is_err());
            }
            let stats = arena.stats();
            assert_eq!(stats.deferred_bytes, bytes, "{name}");
            assert!(stats.allocated_bytes < CHUNK as u64, "{name}: {stats:?}");
        });
        assert_eq!(arena.stats().deferred_frees, 0);
        // Whoever takes the lock next frees them.
        let found = prove(&arena);
        assert_eq!((found.deferred_bytes, found.huge_blocks), (0, 0), "{name}");
        assert_eq!(arena.stats().deferred_frees, deferred, "{name}");
        for pointer in objects {
            assert!(worker.free(pointer).is_err());
        }
        drop(worker);
        prove_idle(&arena);
        // SAFETY: nothing is attached or allocated.
        unsafe { arena.destroy() }.unwrap();
    }
}

#[test]
fn threads_that_may_not_wait_defer_side_by_side() {
    const THREADS: usize = 4;
    const OBJECTS: usize = 500;
    let source = GatedSource::new(MEMORY);
    for round in 0..soak(10) {
        let arena = arena(&source, Config::NO_CACHES);
        let hurried = hurried(&source, &arena);
        let start = Barrier::new(THREADS);
        let seats: Vec<_> = (0..THREADS)
            .map(|thread| {
                let worker = hurried.attach().unwrap();
                let mut rng = Rng::new((round * THREADS + thread) as u64);
                let objects: Vec<_> = (0..OBJECTS)
                    .map(|stamp| {
                        let size = rng.size(8);
                        Object::alloc(&worker, size, stamp as u64, Extent::Whole).unwrap()
                    })
                    .collect();
                (worker.into_address(), objects)
            })
            .collect();
        let reference = &&source;
        source.while_locked(&arena, || {
            std::thread::scope(|scope| {
                for (slot, objects) in seats {
                    let start = &start;
                    scope.spawn(move || {
                        // SAFETY: the slot is attached, and its first handle was given up.
                        let worker = std::mem::ManuallyDrop::new(unsafe {
                            warena::Worker::at(reference, slot)
                        });
                        start.wait();
                        for object in objects {
                            let pointer = object.pointer();
                            object.check();
                            worker.free_nowait(pointer).unwrap();
                            let again = worker.free_nowait(pointer);
                            assert_eq!(again, Err(FreeError::Deferred));
                        }
                    });
                }
            });
            assert_eq!(arena.stats().allocated_bytes, 0);
        });
        let found = prove(&arena);
        assert_eq!((found.allocated_objects, found.deferred_bytes), (0, 0));
        assert_eq!(arena.stats().deferred_frees, (THREADS * OBJECTS) as u64);
        // SAFETY: nothing that was allocated is used, nor is any slot.
        unsafe { arena.destroy() }.unwrap();
    }
}

#[test]
fn threads_of_both_kinds_share_an_arena() {
    const THREADS: usize = 6;
    let source = GatedSource::new(MEMORY);
    for (name, config) in CONFIGS {
        let arena = arena(&source, config);
        let hurried = hurried(&source, &arena);
        let exchange = Exchange::new(32);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (patient, hurried, exchange) = (&arena, &hurried, &exchange);
                scope.spawn(move || {
                    let may_wait = thread % 2 == 0;
                    let worker = loop {
                        let arena = if may_wait { patient } else { hurried };
                        if let Ok(worker) = arena.attach() {
                            break worker;
                        }
                    };
                    let mut rng = Rng::new(thread as u64);
                    for step in 0..soak(20_000) {
                        let size = rng.size(11);
                        let stamp = (thread << 32 | step) as u64;
                        let fresh = if may_wait {
                            worker.alloc(size)
                        } else {
                            worker.alloc_nowait(size)
                        };
                        // SAFETY: just allocated for `size` bytes.
                        let fresh = fresh.ok().map(|pointer| unsafe {
                            Object::adopt(pointer, size, stamp, Extent::Ends)
                        });
                        if let Some(old) = exchange.swap(rng.below(32), fresh) {
                            let pointer = old.retire();
                            let freed = if may_wait {
                                worker.free(pointer)
                            } else {
                                worker.free_nowait(pointer)
                            };
                            freed.unwrap_or_else(|error| panic!("{name}: {error}"));
                        }
                    }
                    let mut worker = worker;
                    while let Err((_, busy)) = worker.detach() {
                        worker = busy;
                    }
                });
            }
        });
        let worker = arena.attach().unwrap();
        exchange.drain().for_each(|object| object.free(&worker));
        drop(worker);
        let found = prove_idle(&arena);
        assert_eq!(found.deferred_bytes, 0, "{name}");
        // SAFETY: nothing is attached or allocated.
        unsafe { arena.destroy() }.unwrap();
    }
}

/// Defers four neighbours, newest first in the chain, then has the program write `link` over the
/// link of the third: the two behind it are lost. Returns what `verify()` says.
fn stray_write(link: impl Fn(&[*mut u8; 4]) -> u32) -> (Result<(), Violation>, [u32; 4]) {
    let source = GatedSource::new(MEMORY);
    let arena = arena(&source, Config::NO_CACHES);
    let worker = arena.attach().unwrap();
    let objects = [(); 4].map(|()| worker.alloc(64).unwrap().as_ptr());
    let bystander = Object::alloc(&worker, 64, 1, Extent::Whole).unwrap();
    source.while_locked(&arena, || {
        for pointer in objects {
            worker.free_nowait(pointer).unwrap();
        }
        // A use after free.
        // SAFETY: the block is at least 16 bytes, and nobody else is here.
        unsafe { objects[2].cast::<u32>().write(link(&objects)) };
    });
    let addresses = objects.map(|pointer| source.memory().address(pointer).unwrap());
    let verdict = arena.verify().map(|_| ());
    // Whatever was written there, the heap still serves, and what is alive stays so.
    let more: Vec<_> = (0..1000)
        .map(|stamp| Object::alloc(&worker, 64, stamp, Extent::Whole).unwrap())
        .collect();
    bystander.check();
    more.into_iter().for_each(|object| object.free(&worker));
    assert_eq!(
        worker.free(objects[0]),
        Err(FreeError::Deferred),
        "lost, and not reused"
    );
    bystander.free(&worker);
    assert_eq!(arena.verify().map(|_| ()), verdict);
    (verdict, addresses)
}

#[test]
fn a_stray_write_into_a_deferred_object_never_leads_the_allocator_astray() {
    let links: [fn(&[*mut u8; 4]) -> u32; 6] = [
        |_| 0,
        |_| 0xffff_fff1,
        |_| 0x0000_0010,
        |_| 0x0030_0000,
        // The middle of a block, and an object that was drained a moment ago.
        |objects| objects[3] as usize as u32 & 0xf_ffff | 0x10_0004,
        |objects| (objects[2] as usize & 0xf_ffff) as u32 | 0x10_0000,
    ];
    for link in links {
        let (verdict, addresses) = stray_write(link);
        let lost = Err(Violation::Lost {
            address: addresses[0].min(addresses[1]),
            state: BlockState::Deferred,
        });
        assert_eq!(verdict, lost);
    }
}
