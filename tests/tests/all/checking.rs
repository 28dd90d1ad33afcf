//! Checking mode: what is written where nobody should is found, freed objects wait for their reuse,
//! and of every byte it is known whether it is allocated.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use warena::{
    Arena, CheckError, Config, Context, Damage, DamageKind, FreeError, MappedMemory, Rounding,
    Violation,
};
use warena_tests::{
    CountedSource, Exchange, Extent, GatedSource, Object, Rng, arena, prove, prove_idle, soak,
};

/// Sizes of every kind: within a unit, filling a block and not, uncached, the largest block, huge.
const SIZES: [usize; 10] = [
    1, 16, 40, 64, 100, 2048, 5000, 0x8_0000, 0x8_0001, 0x21_0000,
];

fn memory() -> MappedMemory {
    MappedMemory::new(64 << 20).unwrap()
}

/// Checking mode with a quarantine of so many objects.
fn quarantine(objects: u32) -> Config {
    Config {
        quarantine: objects,
        ..Config::CHECKING
    }
}

fn unallocated(offset: usize) -> Result<(), CheckError> {
    Err(CheckError::Unallocated { offset })
}

#[test]
fn every_byte_is_known_to_be_allocated_or_not() {
    let memory = memory();
    let arena = arena(&memory, Config::CHECKING);
    let worker = arena.attach().unwrap();
    for size in SIZES {
        let object = worker.alloc(size).unwrap().as_ptr();
        assert_eq!(worker.usable_size(object), Ok(size));
        assert_eq!(arena.check(object, size), Ok(()), "{size:#x}");
        assert_eq!(arena.check(object, 0), Ok(()));
        assert_eq!(arena.check(object, size + 1), unallocated(size));
        assert_eq!(arena.check(object.wrapping_add(size - 1), 1), Ok(()));
        assert_eq!(arena.check(object.wrapping_add(size), 1), unallocated(0));
        worker.free(object).unwrap();
        // In the quarantine, or back at the source.
        assert_eq!(arena.check(object, size), unallocated(0), "{size:#x}");
    }
    let header = memory_pointer(&memory, arena.address());
    assert_eq!(arena.check(header, 1), unallocated(0), "metadata");
    assert_eq!(arena.check(std::ptr::null(), 1), unallocated(0));
    drop(worker);
    prove_idle(&arena);
}

fn memory_pointer(memory: &MappedMemory, address: u32) -> *const u8 {
    warena::ChunkSource::memory(memory).pointer(address)
}

#[test]
fn a_range_may_span_objects() {
    let memory = memory();
    let arena = arena(&memory, Config::CHECKING);
    let worker = arena.attach().unwrap();
    let mut objects = [std::ptr::null_mut(); 4];
    worker.alloc_bulk(64, 2, &mut objects).unwrap();
    assert_eq!(arena.check(objects[0], 256), Ok(()));
    worker.free(objects[2]).unwrap();
    assert_eq!(arena.check(objects[0], 256), unallocated(128));
    let refused = |index, error| panic!("object {index}: {error}");
    assert_eq!(
        worker.free_bulk(&[objects[0], objects[1], objects[3]], refused),
        3
    );
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn without_the_mode_nothing_is_known() {
    let memory = memory();
    let arena = arena(&memory, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    let object = worker.alloc(64).unwrap().as_ptr();
    assert_eq!(arena.check(object, 64), Err(CheckError::NotChecking));
    worker.free(object).unwrap();
    assert_eq!(arena.damage(), None);
}

#[test]
fn cached_objects_count_as_freed() {
    let memory = memory();
    let arena = arena(&memory, quarantine(0));
    let worker = arena.attach().unwrap();
    let object = worker.alloc(64).unwrap().as_ptr();
    worker.free(object).unwrap();
    // Without a quarantine it is in the cache at once.
    assert_eq!(worker.free(object), Err(FreeError::Cached));
    assert_eq!(arena.check(object, 1), unallocated(0));
    assert_eq!(worker.alloc(64).unwrap().as_ptr(), object);
    assert_eq!(arena.check(object, 64), Ok(()));
    worker.free(object).unwrap();
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn deferred_objects_count_as_freed() {
    let source = GatedSource::new(64 << 20);
    // Nothing is cached and nothing is kept, so every free wants the heap.
    let config = Config {
        cached_orders: 0,
        ..quarantine(0)
    };
    let arena = arena(&source, config);
    let worker = arena.attach().unwrap();
    let objects = SIZES.map(|size| worker.alloc(size).unwrap().as_ptr());
    std::thread::scope(|scope| {
        let gate = source.shut();
        let holder = scope.spawn(|| arena.grow(1).unwrap());
        source.wait_for_holder();
        for (object, size) in objects.into_iter().zip(SIZES) {
            worker.free_nowait(object).unwrap();
            assert_eq!(arena.check(object, size), unallocated(0), "{size:#x}");
            assert_eq!(worker.free_nowait(object), Err(FreeError::Deferred));
        }
        drop(gate);
        holder.join().unwrap();
    });
    assert_eq!(arena.stats().requested_bytes, Some(0));
    drop(worker);
    prove_idle(&arena);
    assert_eq!(arena.stats().deferred_frees, SIZES.len() as u64);
}

#[test]
fn figures_say_what_was_asked_for_and_what_was_lost() {
    let memory = memory();
    let arena = arena(&memory, Config::CHECKING);
    let worker = arena.attach().unwrap();
    assert_eq!(arena.stats().internal_fragmentation(), None);
    let objects: Vec<_> = (0..10).map(|_| worker.alloc(96).unwrap()).collect();
    let stats = arena.stats();
    assert_eq!(stats.requested_bytes, Some(960));
    assert_eq!(stats.orders[3].allocated_objects, 10);
    assert_eq!(stats.orders[3].allocations, 10);
    assert_eq!(
        stats.internal_fragmentation(),
        Some(Rounding::Measured(0.25))
    );
    for object in objects {
        worker.free(object.as_ptr()).unwrap();
    }
    let stats = arena.stats();
    assert_eq!(
        (stats.orders[3].allocated_objects, stats.orders[3].frees),
        (0, 10)
    );
    assert_eq!(stats.requested_bytes, Some(0));
    let slot = arena.slot_stats(worker.slot()).unwrap();
    assert_eq!((slot.cache_allocations, slot.cache_frees), (10, 10));
    assert_eq!(slot.cached_bytes, stats.cached_bytes);
    assert_eq!(arena.slot_stats(worker.slot() + 1), None);
}

#[test]
fn a_write_after_free_is_found_when_the_object_leaves_the_quarantine() {
    const OBJECTS: u32 = 8;
    let memory = memory();
    let arena = arena(&memory, quarantine(OBJECTS));
    let worker = arena.attach().unwrap();
    let objects: Vec<_> = (0..=OBJECTS)
        .map(|_| worker.alloc(64).unwrap().as_ptr())
        .collect();
    for &object in &objects[..OBJECTS as usize] {
        worker.free(object).unwrap();
        assert_ne!(worker.alloc(64).map(|fresh| fresh.as_ptr()), Ok(object));
    }
    prove(&arena);
    let address = memory_address(&memory, objects[0]);
    let expected = Damage {
        kind: DamageKind::AfterFree,
        address,
        offset: 37,
        found: 0x5a,
    };
    // SAFETY: the memory is mapped; the write is the mistake under test.
    unsafe { objects[0].add(37).write(0x5a) };
    assert_eq!(arena.verify(), Err(Violation::Damaged(expected)));
    assert_eq!(arena.damage(), None, "nobody has looked yet");
    worker.free(objects[OBJECTS as usize]).unwrap();
    assert_eq!(arena.damage(), Some(expected));
    assert_eq!(arena.stats().damages, 1);
    // What was found is found once, and the arena is in order.
    prove(&arena);
}

fn memory_address(memory: &MappedMemory, pointer: *const u8) -> u32 {
    warena::ChunkSource::memory(memory)
        .address(pointer)
        .unwrap()
}

#[test]
fn a_write_behind_an_object_is_found_when_it_is_freed() {
    for size in SIZES {
        let memory = memory();
        let arena = arena(&memory, Config::CHECKING);
        let worker = arena.attach().unwrap();
        let object = worker.alloc(size).unwrap().as_ptr();
        let block = size.next_power_of_two().max(16);
        if size == block {
            worker.free(object).unwrap();
            assert_eq!(arena.damage(), None, "{size:#x} has no padding");
            continue;
        }
        let expected = Damage {
            kind: DamageKind::BehindObject,
            address: memory_address(&memory, object),
            offset: size as u32,
            found: 0,
        };
        // SAFETY: the block is larger than the object; the write is the mistake under test.
        unsafe { object.add(size).write(0) };
        worker.free(object).unwrap();
        assert_eq!(arena.damage(), Some(expected));
    }
}

#[test]
fn freed_bytes_are_poisoned_and_reused_last() {
    let memory = memory();
    let arena = arena(&memory, quarantine(3));
    let worker = arena.attach().unwrap();
    for size in [24, 100_000] {
        let object = worker.alloc(size).unwrap().as_ptr();
        // SAFETY: the object has that many bytes.
        unsafe { object.write_bytes(1, size) };
        worker.free(object).unwrap();
        let bytes: Vec<u8> = (0..size)
            // SAFETY: the memory stays mapped.
            .map(|at| unsafe { object.add(at).read_volatile() })
            .collect();
        assert!(bytes.iter().all(|&byte| byte == bytes[0] && byte != 1));
        for _ in 0..2 {
            let other = worker.alloc(size).unwrap().as_ptr();
            assert_ne!(other, object, "reused before others were freed");
            worker.free(other).unwrap();
        }
    }
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn resized_objects_keep_bytes_and_their_bounds() {
    let memory = memory();
    let arena = arena(&memory, Config::CHECKING);
    let worker = arena.attach().unwrap();
    let mut object = worker.alloc(10).unwrap().as_ptr();
    // SAFETY: ten bytes were asked for.
    unsafe { object.write_bytes(7, 10) };
    for size in [12, 60, 1000, 70_000, 0x30_0000, 0x10_0000, 600, 20, 10] {
        object = worker.realloc(object, size).unwrap().as_ptr();
        assert_eq!(arena.check(object, size), Ok(()), "{size:#x}");
        assert_eq!(arena.check(object, size + 1), unallocated(size));
        // SAFETY: every size is at least ten bytes.
        assert!((0..10).all(|at| unsafe { object.add(at).read() } == 7));
        prove(&arena);
    }
    worker.free(object).unwrap();
    assert_eq!(arena.damage(), None);
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn a_refused_resize_leaves_the_bytes_as_they_were() {
    let memory = MappedMemory::new(3 << 20).unwrap();
    let arena = arena(&memory, Config::CHECKING);
    let worker = arena.attach().unwrap();
    let object = worker.alloc(100).unwrap().as_ptr();
    // SAFETY: a hundred bytes were asked for.
    unsafe { object.write_bytes(9, 100) };
    assert!(worker.realloc(object, 0x40_0000).is_err());
    assert_eq!(arena.check(object, 100), Ok(()));
    assert_eq!(arena.check(object, 101), unallocated(100));
    // SAFETY: as above.
    assert!((0..100).all(|at| unsafe { object.add(at).read() } == 9));
    worker.free(object).unwrap();
    assert_eq!(arena.damage(), None);
}

#[test]
fn zeroed_and_aligned_objects_are_bounded_too() {
    let memory = memory();
    let arena = arena(&memory, Config::CHECKING);
    let worker = arena.attach().unwrap();
    for size in SIZES {
        let zeroed = worker.alloc_zeroed(size).unwrap().as_ptr();
        assert_eq!(arena.check(zeroed, size + 1), unallocated(size));
        // SAFETY: the object has that many bytes.
        assert!((0..size).all(|at| unsafe { zeroed.add(at).read() } == 0));
        let aligned = worker.alloc_aligned(size, 1 << 20).unwrap().as_ptr();
        for object in [zeroed, aligned] {
            assert_eq!(arena.check(object, size), Ok(()));
            worker.free(object).unwrap();
            assert_eq!(arena.check(object, size), unallocated(0));
        }
    }
    assert_eq!(arena.damage(), None);
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn of_two_frees_at_the_same_moment_one_is_refused() {
    const ROUNDS: usize = 30_000;
    let memory = memory();
    let arena = arena(&memory, Config::CHECKING);
    let arrived = AtomicUsize::new(0);
    let objects: Vec<usize> = {
        let worker = arena.attach().unwrap();
        (0..ROUNDS)
            .map(|round| worker.alloc(SIZES[round % 5]).unwrap().as_ptr() as usize)
            .collect()
    };
    let freed: usize = std::thread::scope(|scope| {
        let both = [(); 2].map(|()| {
            scope.spawn(|| {
                let worker = arena.attach().unwrap();
                let mut rng = Rng::new(worker.slot().into());
                objects
                    .iter()
                    .zip(1..)
                    .filter(|&(&object, round)| {
                        // Both spin until both are here, so that they free within a few ns.
                        arrived.fetch_add(1, SeqCst);
                        let mut spins = 0;
                        while arrived.load(SeqCst) < 2 * round {
                            spins += 1;
                            if spins % 1000 == 0 {
                                std::thread::yield_now();
                            }
                        }
                        // Whoever came last is ahead by what it takes to see that: by chance not.
                        (0..rng.below(200)).for_each(|step| {
                            std::hint::black_box(step);
                        });
                        worker.free(object as *mut u8).is_ok()
                    })
                    .count()
            })
        });
        both.map(|thread| thread.join().unwrap()).iter().sum()
    });
    assert_eq!(freed, ROUNDS);
    prove_idle(&arena);
}

/// Workers allocate, resize and free at random, also what others allocated; every object keeps its
/// stamp, and nothing is found damaged.
#[test]
fn four_workers_at_random_damage_nothing() {
    for objects in [0, 1, 64] {
        let memory = memory();
        let arena = arena(&memory, quarantine(objects));
        let exchange = Exchange::new(16);
        std::thread::scope(|scope| {
            for number in 0..4 {
                let (arena, exchange) = (&arena, &exchange);
                scope.spawn(move || churn(arena, exchange, number));
            }
        });
        let worker = arena.attach().unwrap();
        exchange.drain().for_each(|object| object.free(&worker));
        drop(worker);
        assert_eq!(arena.damage(), None);
        assert_eq!(arena.stats().requested_bytes, Some(0));
        prove_idle(&arena);
    }
}

fn churn(arena: &Arena<&MappedMemory>, exchange: &Exchange, number: u64) {
    let worker = arena.attach().unwrap();
    let mut rng = Rng::new(number);
    for round in 0..soak(4_000) as u64 {
        let stamp = number << 32 | round;
        let size = rng.size(9);
        let fresh = Object::alloc(&worker, size, stamp, Extent::Whole).unwrap();
        let found = exchange.swap(rng.below(exchange.cells()), Some(fresh));
        let Some(mut object) = found else { continue };
        if rng.below(3) == 0 {
            object.realloc(&worker, rng.size(10), !stamp).unwrap();
        }
        assert_eq!(arena.check(object.pointer(), object.size()), Ok(()));
        object.free(&worker);
    }
}

#[test]
fn the_quarantine_gives_way_when_memory_runs_out() {
    let source = CountedSource::new(4 << 20);
    let arena = Arena::create(&source, quarantine(4096), Context::MayWait).unwrap();
    let worker = arena.attach().unwrap();
    for _ in 0..100 {
        let object = worker.alloc(300_000).unwrap();
        worker.free(object.as_ptr()).unwrap();
    }
    drop(worker);
    prove_idle(&arena);
}
