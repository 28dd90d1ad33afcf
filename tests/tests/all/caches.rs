//! Each way that objects move between a cache, the transfer cache of their order and the heap.
//! What moved is read off the counters, so that a path which merely happens to return a good
//! pointer does not pass.

use std::collections::BTreeSet;
use std::ptr::null_mut;
use warena::{Arena, Config, MappedMemory, Stats, Worker};
use warena_tests::{Extent, NARROW, Object, arena, block_bytes, prove, prove_idle};

const MEMORY: u64 = 64 << 20;
/// A size of a cached order that no other object of these tests has.
const SIZE: usize = 200;
const BLOCK: u64 = 256;
const CAPACITY: usize = Config::DEFAULT.capacity as usize;
const BATCH: usize = Config::DEFAULT.batch as usize;
const TRANSFER: usize = Config::DEFAULT.transfer_capacity as usize;

fn memory() -> MappedMemory {
    MappedMemory::new(MEMORY).expect("address space")
}

fn alloc_many(worker: &Worker<'_, &MappedMemory>, count: usize) -> Vec<Object> {
    (0..count)
        .map(|index| Object::alloc(worker, SIZE, index as u64, Extent::Whole).unwrap())
        .collect()
}

/// Objects of `SIZE` in caches and in transfer caches.
fn held(stats: &Stats) -> (u64, u64) {
    (stats.cached_bytes / BLOCK, stats.in_transfer_bytes / BLOCK)
}

#[test]
fn bulk_calls_bypass_the_caches() {
    let memory = memory();
    let arena = arena(&memory, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    for object in alloc_many(&worker, BATCH) {
        object.free(&worker);
    }
    let before = arena.stats();
    let mut out = [null_mut(); 16];
    worker.alloc_bulk(SIZE, 4, &mut out).unwrap();
    let between = arena.stats();
    assert_eq!(held(&between), held(&before), "bulk came out of a cache");
    assert_eq!(between.heap_locks, before.heap_locks + 1);

    out.reverse();
    out[3] = null_mut();
    let pointer = out[3];
    assert!(pointer.is_null());
    let freed = worker.free_bulk(&out, |index, error| panic!("{index}: {error}"));
    assert_eq!(freed, 15, "a null pointer is passed over");
    let after = arena.stats();
    assert_eq!(held(&after), held(&before), "bulk went into a cache");
    assert_eq!(after.heap_locks, before.heap_locks + 2, "one lock for all");
    assert_eq!(after.cache_frees, before.cache_frees);
    assert_eq!(after.cache_allocations, before.cache_allocations);
    assert_eq!(after.direct_frees, before.direct_frees + 15);
    assert_eq!(prove(&arena).allocated_objects, 1);
}

#[test]
fn an_empty_cache_refills_with_one_batch_under_one_lock() {
    let memory = memory();
    let arena = arena(&memory, NARROW);
    let worker = arena.attach().unwrap();
    let before = arena.stats();
    let mut objects = alloc_many(&worker, 1);
    let refilled = arena.stats();
    assert_eq!(refilled.refills_from_heap, before.refills_from_heap + 1);
    assert_eq!(refilled.heap_locks, before.heap_locks + 1);
    assert_eq!(held(&refilled), (BATCH as u64 - 1, 0));
    assert_eq!(refilled.cache_hits, before.cache_hits);

    objects.extend(alloc_many(&worker, BATCH - 1));
    let emptied = arena.stats();
    assert_eq!(emptied.heap_locks, refilled.heap_locks, "hits take no lock");
    assert_eq!(emptied.cache_hits, before.cache_hits + BATCH as u64 - 1);
    assert_eq!(held(&emptied), (0, 0));
    assert_eq!(emptied.direct_allocations, 0);

    objects.extend(alloc_many(&worker, 1));
    assert_eq!(
        arena.stats().refills_from_heap,
        before.refills_from_heap + 2
    );
    objects.into_iter().for_each(|object| object.free(&worker));
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn a_refill_uses_loose_blocks_before_it_cuts_a_larger_one() {
    let memory = memory();
    let arena = arena(&memory, Config::SPILL_ONLY);
    let worker = arena.attach().unwrap();
    // Sixteen neighbours, of which every other one goes back to the heap: eight loose blocks.
    let mut out = [null_mut(); 16];
    worker.alloc_bulk(SIZE, 4, &mut out).unwrap();
    let loose: Vec<_> = out.iter().copied().step_by(2).collect();
    assert_eq!(worker.free_bulk(&loose, |_, error| panic!("{error}")), 8);
    let before = arena.stats();
    let objects = alloc_many(&worker, BATCH);
    let after = arena.stats();
    assert_eq!(after.splits, before.splits, "a larger block was cut");
    let got: BTreeSet<_> = objects.iter().map(Object::pointer).collect();
    assert_eq!(got, loose.into_iter().collect());
    objects.into_iter().for_each(|object| object.free(&worker));
    for &pointer in out.iter().skip(1).step_by(2) {
        worker.free(pointer).unwrap();
    }
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn a_cache_returns_what_was_freed_last() {
    let memory = memory();
    let arena = arena(&memory, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    let objects = alloc_many(&worker, CAPACITY - 1);
    worker.flush().unwrap();
    let pointers: Vec<_> = objects.iter().map(Object::pointer).collect();
    objects.into_iter().for_each(|object| object.free(&worker));
    let locks = arena.stats().heap_locks;
    let again = alloc_many(&worker, CAPACITY - 1);
    assert!(
        again
            .iter()
            .map(Object::pointer)
            .eq(pointers.into_iter().rev()),
        "not last in, first out"
    );
    assert_eq!(arena.stats().heap_locks, locks);
    again.into_iter().for_each(|object| object.free(&worker));
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn a_full_cache_spills_exactly_one_batch_and_an_empty_one_takes_it_back() {
    let memory = memory();
    let arena = arena(&memory, NARROW);
    let worker = arena.attach().unwrap();
    let objects = alloc_many(&worker, CAPACITY + 1);
    worker.flush().unwrap();
    let pointers: Vec<_> = objects.iter().map(Object::pointer).collect();
    let before = arena.stats();
    let mut objects = objects.into_iter();
    objects
        .by_ref()
        .take(CAPACITY)
        .for_each(|object| object.free(&worker));
    assert_eq!(held(&arena.stats()), (CAPACITY as u64, 0));

    objects.for_each(|object| object.free(&worker));
    let spilled = arena.stats();
    let kept = CAPACITY - BATCH + 1;
    assert_eq!(held(&spilled), (kept as u64, BATCH as u64));
    assert_eq!(spilled.spills_to_transfer, before.spills_to_transfer + 1);
    assert_eq!(
        spilled.heap_locks, before.heap_locks,
        "the heap was touched"
    );

    let mut again = alloc_many(&worker, kept);
    assert_eq!(held(&arena.stats()), (0, BATCH as u64));
    again.extend(alloc_many(&worker, BATCH));
    let taken = arena.stats();
    assert_eq!(held(&taken), (0, 0));
    assert_eq!(
        taken.refills_from_transfer,
        before.refills_from_transfer + 1
    );
    assert_eq!(taken.refills_from_heap, before.refills_from_heap);
    assert_eq!(taken.heap_locks, before.heap_locks, "the heap was touched");
    // The one freed after the spill, then the stack's lower half, then the batch that was on top.
    let wanted: Vec<_> = [CAPACITY]
        .into_iter()
        .chain((0..CAPACITY - BATCH).rev())
        .chain((CAPACITY - BATCH..CAPACITY).rev())
        .map(|index| pointers[index])
        .collect();
    let got: Vec<_> = again.iter().map(Object::pointer).collect();
    assert_eq!(got, wanted);
    again.into_iter().for_each(|object| object.free(&worker));
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn a_full_transfer_cache_sends_batches_to_the_heap() {
    let memory = memory();
    let arena = arena(&memory, NARROW);
    let worker = arena.attach().unwrap();
    let objects = alloc_many(&worker, CAPACITY + TRANSFER + BATCH);
    worker.flush().unwrap();
    let before = arena.stats();
    let mut objects = objects.into_iter();
    objects
        .by_ref()
        .take(CAPACITY + TRANSFER)
        .for_each(|object| object.free(&worker));
    let full = arena.stats();
    assert_eq!(held(&full), (CAPACITY as u64, TRANSFER as u64));
    assert_eq!(full.heap_locks, before.heap_locks);
    assert_eq!(
        full.spills_to_transfer,
        before.spills_to_transfer + (TRANSFER / BATCH) as u64
    );
    objects.for_each(|object| object.free(&worker));
    let over = arena.stats();
    assert_eq!(held(&over), (CAPACITY as u64, TRANSFER as u64));
    assert_eq!(over.spills_to_heap, before.spills_to_heap + 1);
    assert_eq!(over.heap_locks, before.heap_locks + 1, "one lock a batch");
    assert_eq!(over.free_bytes, before.free_bytes + BATCH as u64 * BLOCK);
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn without_transfer_caches_batches_go_to_the_heap_at_once() {
    let memory = memory();
    let config = Config {
        transfer_capacity: 0,
        ..NARROW
    };
    let arena = arena(&memory, config);
    let worker = arena.attach().unwrap();
    let objects = alloc_many(&worker, CAPACITY + 1);
    worker.flush().unwrap();
    let before = arena.stats();
    objects.into_iter().for_each(|object| object.free(&worker));
    let after = arena.stats();
    assert_eq!(held(&after), ((CAPACITY - BATCH) as u64 + 1, 0));
    assert_eq!(after.spills_to_heap, before.spills_to_heap + 1);
    assert_eq!(after.spills_to_transfer, 0);
    drop(worker);
    assert_eq!(prove_idle(&arena).in_transfer_bytes, 0);
}

#[test]
fn a_batch_that_one_worker_spilled_refills_another() {
    let memory = memory();
    let arena = arena(&memory, NARROW);
    let (giver, taker) = (arena.attach().unwrap(), arena.attach().unwrap());
    assert_ne!(giver.slot(), taker.slot());
    let objects = alloc_many(&giver, CAPACITY + 1);
    giver.flush().unwrap();
    let spilled: BTreeSet<_> = objects[CAPACITY - BATCH..CAPACITY]
        .iter()
        .map(Object::pointer)
        .collect();
    objects.into_iter().for_each(|object| object.free(&giver));
    let locks = arena.stats().heap_locks;
    let taken = alloc_many(&taker, BATCH);
    assert_eq!(
        taken.iter().map(Object::pointer).collect::<BTreeSet<_>>(),
        spilled
    );
    assert_eq!(arena.stats().heap_locks, locks);
    taken.into_iter().for_each(|object| object.free(&taker));
    drop((giver, taker));
    prove_idle(&arena);
}

#[test]
fn orders_that_are_not_cached_go_straight_to_the_heap() {
    let memory = memory();
    let arena = arena(&memory, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    let largest_cached = block_bytes(1) << (Config::DEFAULT.cached_orders - 1);
    let before = arena.stats();
    let object = Object::alloc(&worker, largest_cached + 1, 7, Extent::Whole).unwrap();
    let between = arena.stats();
    assert_eq!(between.direct_allocations, before.direct_allocations + 1);
    assert_eq!(between.cached_bytes, 0);
    object.free(&worker);
    let after = arena.stats();
    assert_eq!(after.direct_frees, before.direct_frees + 1);
    assert_eq!((after.cached_bytes, after.allocated_bytes), (0, 0));
    Object::alloc(&worker, largest_cached, 7, Extent::Whole)
        .unwrap()
        .free(&worker);
    assert!(arena.stats().cached_bytes > 0);
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn flush_and_detach_return_what_the_cache_holds() {
    let memory = memory();
    let arena = arena(&memory, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    let idle = arena.stats();
    for object in alloc_many(&worker, 5) {
        object.free(&worker);
    }
    assert!(arena.stats().cached_bytes > 0);
    worker.flush().unwrap();
    assert_eq!(arena.stats().free_bytes, idle.free_bytes);
    assert_eq!(arena.stats().workers, 1);
    for object in alloc_many(&worker, 5) {
        object.free(&worker);
    }
    let slot = worker.slot();
    worker.detach().ok().unwrap();
    assert_eq!(arena.stats().free_bytes, idle.free_bytes);
    assert_eq!(
        arena.attach().unwrap().slot(),
        slot,
        "the seat is used again"
    );
    prove_idle(&arena);
}

#[test]
fn each_miss_doubles_a_cache_and_its_batches_up_to_8_kib() {
    let memory = memory();
    let arena = arena(&memory, Config::DEFAULT);
    let (maker, taker) = (arena.attach().unwrap(), arena.attach().unwrap());
    let count = |counter: fn(&Stats) -> u64| counter(&arena.stats());
    // 8, 16 and 16 objects of 256 bytes: 32 may be cached of them.
    let mut objects = Vec::new();
    for batch in [8, 16, 16, 16] {
        let before = count(|stats| stats.refills_from_heap);
        objects.extend(alloc_many(&maker, batch));
        assert_eq!(count(|stats| stats.refills_from_heap), before + 1);
        assert_eq!(held(&arena.stats()), (0, 0), "a batch of {batch}");
    }
    objects.extend(alloc_many(&maker, 8));
    // 32 are kept, and 16 leave at once.
    for object in objects.drain(..32) {
        object.free(&taker);
        assert_eq!(count(|stats| stats.spills_to_transfer), 0);
    }
    objects.drain(..1).for_each(|object| object.free(&taker));
    assert_eq!(held(&arena.stats()), (8 + 17, 16));
    assert_eq!(count(|stats| stats.spills_to_transfer), 1);
    // Who has taken eight of its last batch of sixteen has the others, and then those.
    objects.extend(alloc_many(&maker, 8 + 16));
    assert_eq!(held(&arena.stats()), (17, 0));
    assert_eq!(count(|stats| stats.refills_from_transfer), 1);
    objects.into_iter().for_each(|object| object.free(&taker));
    prove(&arena);
    drop((maker, taker));
    prove_idle(&arena);
}

#[test]
fn a_first_batch_has_a_line_of_the_block_map_to_itself() {
    let memory = memory();
    let arena = arena(&memory, Config::DEFAULT);
    let workers = [(); 2].map(|()| arena.attach().unwrap());
    for (size, batch) in [(16, 64), (64, 16), (128, 8), (2048, 8)] {
        // The 64 units whose bytes stand in one line of a processor's cache.
        let lines = workers.each_ref().map(|worker| {
            let before = arena.stats().cached_bytes;
            let first = Object::alloc(worker, size, 1, Extent::Whole).unwrap();
            let cached = (arena.stats().cached_bytes - before) as usize / size;
            assert_eq!(cached, batch - 1, "of {size} bytes");
            let line = first.pointer() as usize / 1024;
            first.free(worker);
            line
        });
        assert_ne!(lines[0], lines[1], "both write one line");
    }
    drop(workers);
    prove_idle(&arena);
}

#[test]
fn an_empty_cache_takes_what_a_transfer_cache_has_of_a_batch() {
    let memory = memory();
    let arena = arena(&memory, Config::DEFAULT);
    let [giver, taker, newcomer] = [(); 3].map(|()| arena.attach().unwrap());
    // The giver lets sixteen go, of which a newcomer takes eight.
    let given = alloc_many(&giver, 33);
    giver.flush().unwrap();
    let mut objects = alloc_many(&taker, BATCH);
    given.into_iter().for_each(|object| object.free(&giver));
    objects.extend(alloc_many(&newcomer, 1));
    let before = arena.stats();
    assert_eq!(before.in_transfer_bytes / BLOCK, 8);
    // The taker would have sixteen by now.
    objects.extend(alloc_many(&taker, 8));
    let after = arena.stats();
    assert_eq!(after.in_transfer_bytes, 0);
    assert_eq!(
        after.refills_from_transfer,
        before.refills_from_transfer + 1
    );
    assert_eq!(after.heap_locks, before.heap_locks);
    objects.into_iter().for_each(|object| object.free(&taker));
    drop((giver, taker, newcomer));
    prove_idle(&arena);
}

/// Allocates as many objects of 64 bytes and frees them all; the batches that went in and out.
fn burst(worker: &Worker<'_, &MappedMemory>, arena: &Arena<&MappedMemory>, objects: usize) -> u64 {
    let moved = |stats: Stats| {
        stats.refills_from_heap
            + stats.refills_from_transfer
            + stats.spills_to_heap
            + stats.spills_to_transfer
    };
    let before = moved(arena.stats());
    let all: Vec<_> = (0..objects)
        .map(|stamp| Object::alloc(worker, 64, stamp as u64, Extent::Whole).unwrap())
        .collect();
    all.into_iter().for_each(|object| object.free(worker));
    moved(arena.stats()) - before
}

#[test]
fn a_cache_that_sees_bursts_comes_to_hold_them() {
    let source = memory();
    let arena = arena(&source, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    assert!(burst(&worker, &arena, 256) > 0, "the first must be filled");
    for objects in [256, 256, 100, 16, 256] {
        assert_eq!(
            burst(&worker, &arena, objects),
            0,
            "{objects} are cached by now"
        );
    }
    assert_eq!(arena.stats().cached_bytes, 256 * 64);
    // At most 64 KiB of them, however large the burst.
    (0..3).for_each(|_| {
        burst(&worker, &arena, 3000);
    });
    assert_eq!(arena.stats().cached_bytes, 64 << 10);
    worker.flush().unwrap();
    let after_flush: Vec<_> = (0..40)
        .map(|stamp| Object::alloc(&worker, 64, stamp, Extent::Whole).unwrap())
        .collect();
    prove(&arena);
    after_flush
        .into_iter()
        .for_each(|object| object.free(&worker));
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn a_cache_that_only_fills_holds_8_kib_and_narrows_again() {
    let source = memory();
    let arena = arena(&source, Config::DEFAULT);
    let (maker, taker) = (arena.attach().unwrap(), arena.attach().unwrap());
    let pass_on = |count: usize| {
        for stamp in 0..count {
            let object = Object::alloc(&maker, 64, stamp as u64, Extent::Whole).unwrap();
            object.free(&taker);
        }
    };
    pass_on(1000);
    let holds = |worker: &Worker<'_, &MappedMemory>| {
        arena.slot_stats(worker.slot()).unwrap().cached_bytes / 64
    };
    assert!(holds(&taker) <= 128, "it never allocates");
    burst(&taker, &arena, 512);
    assert!(holds(&taker) >= 512);
    // From now on it only frees: what it may hold is halved until it is as it was.
    pass_on(30_000);
    assert!(holds(&taker) <= 128, "{} are held", holds(&taker));
    drop((maker, taker));
    prove_idle(&arena);
}
