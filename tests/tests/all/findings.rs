//! The nine findings of the reviews of libarena's fourth series, each as a test that fails on what
//! the reviewer described.
//!
//! | finding | what the reviewer saw there | what is tested here |
//! | --- | --- | --- |
//! | 1 | the two ways of trying a lock return opposite things | every call that finds the lock busy says so by the same kind of error |
//! | 2 | room for 8,192 workers no longer fits the memory that a test gives it | 8,192 slots fit an arena, cost what they use, and one more is a clear error |
//! | 3 | one commit of the series does not compile: a declaration lacks a parameter | all callers of the slow path agree: each public call reaches it with and without growth |
//! | 4 | `alloc_nogrow` looks past the cache | it looks there first, and takes no lock |
//! | 5 | internal helpers are visible outside | the cache is reached by the handle only: slots, stacks and heap have no public path (a doc test that must not compile would be too broad; the list of public names is compared) |
//! | 6 | an allocation in no-wait context grows the memory | it does not, and says out of memory |
//! | 7 | a deferred free writes through an unchecked pointer; its later error fails somebody else's call | each kind of bad pointer is refused at once and nothing is written; the next allocation succeeds |
//! | 8 | a deferred object counts as usable until it is drained | it counts as freed from the call on |
//! | 9 | a test frees its first two objects outside the loop that frees the rest | spill and refill are met from the first free on, whichever object comes first |

use warena::{
    AllocError, AttachError, Busy, CHUNK_BYTES, ChunkSource, Config, FreeError, MAX_WORKERS,
};
use warena_tests::{CountedSource, Extent, GatedSource, Object, arena, hurried, prove, prove_idle};

const MEMORY: u64 = 64 << 20;

#[test]
fn finding_1_every_way_of_trying_the_lock_answers_alike() {
    let source = GatedSource::new(MEMORY);
    let arena = arena(&source, Config::DEFAULT);
    let patient = arena.attach().unwrap();
    let hurried = hurried(&source, &arena);
    let worker = hurried.attach().unwrap();
    let mut out = [std::ptr::null_mut(); 2];
    source.while_locked(&arena, || {
        // One that tries once, and others that spin for a while.
        assert_eq!(patient.alloc_nowait(5000), Err(AllocError::Busy));
        assert_eq!(worker.alloc_nowait(5000), Err(AllocError::Busy));
        assert_eq!(worker.alloc(5000), Err(AllocError::Busy));
        assert_eq!(worker.alloc_nogrow(5000), Err(AllocError::Busy));
        assert_eq!(worker.alloc_zeroed(5000), Err(AllocError::Busy));
        assert_eq!(worker.alloc_aligned(16, 4096), Err(AllocError::Busy));
        assert_eq!(worker.alloc_bulk(16, 1, &mut out), Err(AllocError::Busy));
        assert_eq!(worker.reserve(64, 4), Err(AllocError::Busy));
        assert_eq!(worker.flush(), Err(Busy));
        assert_eq!(hurried.grow(1), Err(Busy));
        assert_eq!(hurried.attach().err(), Some(AttachError::Busy));
        assert_eq!(hurried.verify(), Err(warena::Violation::Busy));
    });
    // And all succeed, with the same lock, once it is free.
    let object = patient.alloc_nowait(5000).unwrap();
    patient.free_nowait(object.as_ptr()).unwrap();
    assert_eq!(worker.flush(), Ok(()));
    drop((patient, worker));
    prove_idle(&arena);
}

#[test]
fn finding_2_as_many_workers_as_promised_fit() {
    let source = CountedSource::new(MEMORY);
    let config = Config {
        max_workers: MAX_WORKERS,
        burst_capacity: Config::DEFAULT.capacity,
        ..Config::DEFAULT
    };
    let arena = arena(&source, config);
    // The directory alone is reserved ahead; seats are made when somebody comes.
    assert_eq!(arena.stats().chunks, 1);
    let workers: Vec<_> = (0..MAX_WORKERS).map(|_| arena.attach().unwrap()).collect();
    assert_eq!(arena.attach().err(), Some(AttachError::NoSlot));
    assert_eq!(arena.stats().workers, MAX_WORKERS);
    let bytes = arena.stats().metadata_bytes / u64::from(MAX_WORKERS);
    assert!(bytes <= 8 << 10, "{bytes} bytes a slot");
    for worker in [&workers[0], &workers[8191]] {
        Object::alloc(worker, 64, 1, Extent::Whole)
            .unwrap()
            .free(worker);
    }
    prove(&arena);
    drop(workers);
    prove_idle(&arena);
}

#[test]
fn finding_3_each_call_says_by_itself_whether_it_grows() {
    let source = CountedSource::new(MEMORY);
    let arena = arena(&source, Config::NO_CACHES);
    let worker = arena.attach().unwrap();
    while worker.alloc_nogrow(16).is_ok() {}
    let mut out = [std::ptr::null_mut(); 4];
    let refused = Err(AllocError::OutOfMemory);
    assert_eq!(worker.alloc_nogrow(16), refused);
    assert_eq!(worker.alloc_nowait(16), refused);
    assert_eq!(
        worker.alloc_bulk_nogrow(16, 2, &mut out),
        refused.map(|_: std::ptr::NonNull<u8>| ())
    );
    assert_eq!((source.acquired(), arena.stats().chunks), (1, 1));
    let grown = worker.alloc(16).unwrap();
    assert_eq!(arena.stats().chunks, 2);
    worker.free(grown.as_ptr()).unwrap();
    worker.alloc_bulk(16, 2, &mut out).unwrap();
    assert_eq!(worker.free_bulk(&out, |_, error| panic!("{error}")), 4);
    drop(worker);
    prove(&arena);
}

#[test]
fn finding_4_allocating_without_growth_looks_in_the_cache_first() {
    let source = GatedSource::new(2 << 20);
    let arena = arena(&source, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    let mut objects: Vec<_> = std::iter::from_fn(|| worker.alloc(64).ok()).collect();
    assert_eq!(prove(&arena).free_bytes, 0);
    let cached = objects.pop().unwrap();
    worker.free(cached.as_ptr()).unwrap();
    let locks = arena.stats().heap_locks;
    assert_eq!(
        worker.alloc_nogrow(64),
        Ok(cached),
        "the heap has none, the cache has one"
    );
    assert_eq!(
        arena.stats().heap_locks,
        locks,
        "took the heap lock for what is in the cache"
    );
    objects.push(cached);
    objects
        .iter()
        .for_each(|object| worker.free(object.as_ptr()).unwrap());
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn finding_5_what_is_internal_is_not_reachable() {
    let source = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src/lib.rs"),
    )
    .unwrap();
    let open: Vec<_> = source
        .lines()
        .filter(|line| line.starts_with("pub mod"))
        .collect();
    assert_eq!(
        open, [""; 0],
        "modules are private; the crate names what is public one by one"
    );
    for internal in [
        "cache",
        "lifo",
        "slot::",
        "transfer",
        "central",
        "free_list",
        "deferred",
    ] {
        let named = source
            .lines()
            .any(|line| line.starts_with("pub use") && line.contains(internal));
        assert!(!named, "{internal} is public");
    }
}

#[test]
fn finding_6_an_allocation_that_may_not_wait_does_not_grow() {
    let source = CountedSource::new(MEMORY);
    let arena = arena(&source, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    let objects: Vec<_> = std::iter::from_fn(|| worker.alloc_nowait(2048).ok()).collect();
    for _ in 0..100 {
        assert_eq!(worker.alloc_nowait(2048), Err(AllocError::OutOfMemory));
        assert_eq!(worker.alloc_nowait(3 << 20), Err(AllocError::OutOfMemory));
    }
    // Neither taken nor leaked, nor asked for.
    assert_eq!((source.acquired(), source.refused()), (1, 0));
    objects
        .iter()
        .for_each(|object| worker.free_nowait(object.as_ptr()).unwrap());
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn finding_7_a_bad_free_under_contention_writes_nothing_and_fails_nobody_else() {
    let source = GatedSource::new(MEMORY);
    let arena = arena(&source, Config::NO_CACHES);
    let worker = arena.attach().unwrap();
    let live = Object::alloc(&worker, 100, 1, Extent::Whole).unwrap();
    let huge = Object::alloc(&worker, 2 << 20, 2, Extent::Whole).unwrap();
    let freed = worker.alloc(100).unwrap().as_ptr();
    worker.free(freed).unwrap();
    let twice = worker.alloc(100).unwrap().as_ptr();
    let chunk = source
        .memory()
        .pointer::<u8>(arena.address() & !(CHUNK_BYTES - 1));
    let bad = [
        (live.pointer().wrapping_add(16), FreeError::Interior),
        (live.pointer().wrapping_add(3), FreeError::Unaligned),
        (huge.pointer().wrapping_add(1 << 20), FreeError::Interior),
        (chunk, FreeError::Metadata),
        (std::ptr::without_provenance_mut(64), FreeError::Foreign),
    ];
    let mut others = Vec::new();
    source.while_locked(&arena, || {
        worker.free_nowait(twice).unwrap();
        for _ in 0..10 {
            for (pointer, wanted) in bad {
                assert_eq!(worker.free_nowait(pointer), Err(wanted));
            }
            assert_eq!(
                worker.free_nowait(twice),
                Err(FreeError::Deferred),
                "a cycle in the list"
            );
        }
        assert_eq!(arena.stats().deferred_bytes, 128);
        live.check();
        huge.check();
    });
    // Who drains the list is not told of anything.
    others.push(worker.alloc(100).unwrap());
    assert_eq!(arena.stats().deferred_frees, 1);
    prove(&arena);
    others
        .iter()
        .for_each(|object| worker.free(object.as_ptr()).unwrap());
    live.free(&worker);
    huge.free(&worker);
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn finding_8_a_deferred_object_counts_as_freed_at_once() {
    let source = GatedSource::new(MEMORY);
    let arena = arena(&source, Config::NO_CACHES);
    let worker = arena.attach().unwrap();
    let (small, huge) = (
        worker.alloc(1).unwrap().as_ptr(),
        worker.alloc(1 << 20).unwrap().as_ptr(),
    );
    source.while_locked(&arena, || {
        for pointer in [small, huge] {
            worker.free_nowait(pointer).unwrap();
            assert_eq!(worker.usable_size(pointer), Err(FreeError::Deferred));
            assert_eq!(worker.free_nowait(pointer), Err(FreeError::Deferred));
            assert!(worker.realloc(pointer, 1).is_err());
        }
        let stats = arena.stats();
        assert_eq!(
            (stats.allocated_bytes, stats.deferred_bytes),
            (0, (1 << 20) + 16)
        );
    });
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn finding_9_the_first_objects_take_the_path_of_all_others() {
    // Every object in turn is the one that is freed first, second, and last.
    let source = CountedSource::new(MEMORY);
    let arena = arena(&source, Config::DEFAULT);
    let (capacity, batch) = (
        Config::DEFAULT.capacity as usize,
        Config::DEFAULT.batch as usize,
    );
    for shift in 0..capacity {
        let worker = arena.attach().unwrap();
        let mut objects = [std::ptr::null_mut(); 16];
        worker.alloc_bulk(300, 4, &mut objects).unwrap();
        objects.rotate_left(shift);
        for (freed, pointer) in (1..).zip(objects) {
            worker.free(pointer).unwrap();
            assert_eq!(arena.stats().cached_bytes, freed * 512);
        }
        let one_more = worker.alloc_aligned(300, 1024).unwrap();
        let spills = arena.stats().spills_to_transfer + arena.stats().spills_to_heap;
        worker.free(one_more.as_ptr()).unwrap();
        assert_eq!(
            arena.stats().spills_to_transfer + arena.stats().spills_to_heap,
            spills + 1
        );
        assert_eq!(
            arena.stats().cached_bytes as usize,
            (capacity - batch + 1) * 512
        );
        drop(worker);
        prove_idle(&arena);
    }
}
