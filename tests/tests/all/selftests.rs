//! The seeds' selftests, thought through again for this allocator: making and ending arenas,
//! alignment, bulk allocation, and each way that objects move between cache, transfer cache and
//! heap. What moved is read off the counters, so that a path which merely happens to return a
//! good pointer does not pass.

use std::collections::BTreeSet;
use std::ptr::null_mut;
use warena::{
    AllocError, Arena, ArenaError, CHUNK_BYTES, Config, Context, FreeError, MAX_BLOCK_BYTES,
    MappedMemory, Stats, Worker,
};
use warena_tests::{
    CountedSource, Extent, Intervals, Object, Rng, arena, block_bytes, prove, prove_idle, soak,
};

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
fn arenas_made_and_ended_return_every_chunk() {
    let source = CountedSource::new(MEMORY);
    for round in 0..soak(100) {
        let arena = arena(&source, Config::DEFAULT);
        let worker = arena.attach().unwrap();
        // Some are freed and some are not: ending an arena takes all of it back.
        for index in 0..24 {
            let size = MAX_BLOCK_BYTES as usize >> ((index + round) % 8);
            let object = Object::alloc(&worker, size, index as u64, Extent::Ends).unwrap();
            if index % 3 == 0 {
                object.free(&worker);
            }
        }
        worker.detach().ok().unwrap();
        prove(&arena);
        assert!(source.held() > 1);
        // SAFETY: the only worker is detached and its objects are not touched again.
        unsafe { arena.destroy() }.unwrap();
        assert_eq!(source.held(), 0, "chunks lost in round {round}");
    }
}

#[test]
fn an_ended_arena_leaves_maps_that_a_new_one_can_use() {
    let source = CountedSource::new(4 << 20);
    let mut addresses = BTreeSet::new();
    for _ in 0..20 {
        let arena = arena(&source, Config::DEFAULT);
        addresses.insert(arena.address());
        let worker = arena.attach().unwrap();
        // Every chunk of the memory, cut into small pieces.
        let mut count = 0;
        while worker.alloc(4096).is_ok() {
            count += 1;
        }
        assert!(count > 400, "{count}");
        drop(worker);
        prove(&arena);
        // SAFETY: the only worker is detached and its objects are not touched again.
        unsafe { arena.destroy() }.unwrap();
    }
    assert_eq!(addresses.len(), 1, "the lowest free chunk is used again");
}

#[test]
fn settings_out_of_range_make_no_arena() {
    let source = CountedSource::new(MEMORY);
    let config = Config {
        batch: 17,
        ..Config::DEFAULT
    };
    let Err(ArenaError::Config(error)) = Arena::create(&source, config, Context::MayWait) else {
        panic!("a batch above the capacity passed");
    };
    assert_eq!((error.setting, error.value, error.most), ("batch", 17, 16));
    assert_eq!(source.acquired(), 0);
}

#[test]
fn every_object_is_aligned_to_its_block() {
    let memory = memory();
    for config in [Config::DEFAULT, Config::NO_CACHES] {
        let arena = arena(&memory, config);
        let worker = arena.attach().unwrap();
        let mut live = Intervals::default();
        let mut objects = Vec::new();
        let orders = (0..=15).map(|order| 16_usize << order);
        for size in orders.flat_map(|block| [block / 2 + 1, block - 1, block]) {
            let object = Object::alloc(&worker, size, size as u64, Extent::Ends).unwrap();
            live.add(object.pointer() as usize, block_bytes(size));
            objects.push(object);
        }
        let found = prove(&arena);
        assert_eq!(found.allocated_bytes, live.bytes() as u64);
        assert_eq!(found.allocated_objects, objects.len() as u64);
        objects.into_iter().for_each(|object| object.free(&worker));
        drop(worker);
        prove_idle(&arena);
    }
}

#[test]
fn bulk_objects_follow_each_other_and_free_one_by_one_in_any_order() {
    const SENTINEL: *mut u8 = std::ptr::without_provenance_mut(0x5e47_14e1);
    let memory = memory();
    let arena = arena(&memory, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    let mut rng = Rng::new(1);
    // Sizes of cached and of uncached orders, up to a run that fills the largest block.
    for (size, n_order) in [(1, 0), (16, 4), (100, 6), (3000, 5), (20_000, 4), (16, 15)] {
        let count = 1 << n_order;
        let mut out = vec![SENTINEL; count + 2];
        worker.alloc_bulk(size, n_order, &mut out).unwrap();
        assert_eq!(out[count..], [SENTINEL; 2], "written beyond the objects");
        let stride = block_bytes(size);
        assert_eq!(
            out[0] as usize % (stride * count),
            0,
            "the run is one block"
        );
        for (index, &pointer) in out[..count].iter().enumerate() {
            assert_eq!(pointer as usize, out[0] as usize + index * stride);
        }
        let mut objects: Vec<_> = out[..count]
            .iter()
            .enumerate()
            .map(|(index, &pointer)| {
                let pointer = std::ptr::NonNull::new(pointer).unwrap();
                // SAFETY: each object was just allocated for `size` bytes.
                unsafe { Object::adopt(pointer, size, index as u64, Extent::Whole) }
            })
            .collect();
        assert_eq!(prove(&arena).allocated_objects, count as u64);
        rng.shuffle(&mut objects);
        for (index, object) in objects.into_iter().enumerate() {
            object.free(&worker);
            if index == count / 2 {
                prove(&arena);
            }
        }
        assert_eq!(prove(&arena).allocated_objects, 0);
    }
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn bulk_requests_that_cannot_be_are_refused_and_write_nothing() {
    let memory = memory();
    let arena = arena(&memory, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    let before = arena.stats();
    let mut out = [null_mut(); 8];
    let largest = MAX_BLOCK_BYTES as usize;
    for (size, n_order, wanted) in [
        (0, 3, AllocError::ZeroSize),
        (16, 4, AllocError::ShortArray),
        (largest, 1, AllocError::TooLarge),
        (largest + 1, 0, AllocError::TooLarge),
        (16, 16, AllocError::TooLarge),
        (16, 31, AllocError::TooLarge),
        (16, 32, AllocError::TooLarge),
        (16, u32::MAX, AllocError::TooLarge),
        (usize::MAX, 3, AllocError::TooLarge),
    ] {
        assert_eq!(worker.alloc_bulk(size, n_order, &mut out), Err(wanted));
    }
    assert_eq!(out, [null_mut(); 8]);
    assert_eq!(arena.stats(), before);
    drop(worker);
    prove_idle(&arena);
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
    assert_eq!(freed, Ok(15), "a null pointer is passed over");
    let after = arena.stats();
    assert_eq!(held(&after), held(&before), "bulk went into a cache");
    assert_eq!(after.heap_locks, before.heap_locks + 2, "one lock for all");
    assert_eq!(after.cache_frees, before.cache_frees);
    assert_eq!(after.cache_allocations, before.cache_allocations);
    assert_eq!(after.direct_frees, before.direct_frees + 15);
    assert_eq!(prove(&arena).allocated_objects, 1);
}

#[test]
fn a_bulk_free_reports_the_bad_and_frees_the_rest() {
    let memory = memory();
    let arena = arena(&memory, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    let mut out = [null_mut(); 4];
    worker.alloc_bulk(64, 2, &mut out).unwrap();
    let list = [
        out[2],
        out[0].wrapping_add(16),
        out[0],
        null_mut(),
        out[2],
        out[1].wrapping_add(1),
        out[3],
        std::ptr::without_provenance_mut(8),
    ];
    let mut refused = Vec::new();
    let freed = worker.free_bulk(&list, |index, error| refused.push((index, error)));
    assert_eq!(freed, Ok(3));
    let wanted = [
        (1, FreeError::Interior),
        (4, FreeError::NotAllocated),
        (5, FreeError::Unaligned),
        (7, FreeError::Foreign),
    ];
    assert_eq!(refused, wanted);
    assert_eq!(prove(&arena).allocated_objects, 1);
    worker.free(out[1]).unwrap();
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn an_empty_cache_refills_with_one_batch_under_one_lock() {
    let memory = memory();
    let arena = arena(&memory, Config::DEFAULT);
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
    assert_eq!(
        worker.free_bulk(&loose, |_, error| panic!("{error}")),
        Ok(8)
    );
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
    let arena = arena(&memory, Config::DEFAULT);
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
    let arena = arena(&memory, Config::DEFAULT);
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
    let arena = arena(&memory, Config::SPILL_ONLY);
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
    let arena = arena(&memory, Config::DEFAULT);
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
fn an_interior_pointer_is_refused_and_its_object_not_consumed() {
    let memory = memory();
    let arena = arena(&memory, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    for size in [32, SIZE, 2048, 4096, MAX_BLOCK_BYTES as usize] {
        let object = Object::alloc(&worker, size, 3, Extent::Whole).unwrap();
        let before = prove(&arena);
        for offset in (16..size).step_by(16.max(size / 64)) {
            let inside = object.pointer().wrapping_add(offset);
            assert_eq!(worker.free(inside), Err(FreeError::Interior));
        }
        assert_eq!(prove(&arena), before);
        object.free(&worker);
    }
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
fn chunks_that_become_empty_go_back_but_for_one() {
    let source = CountedSource::new(MEMORY);
    for config in [Config::DEFAULT, Config::NO_CACHES] {
        let arena = arena(&source, config);
        let worker = arena.attach().unwrap();
        for size in [1000, 5000, MAX_BLOCK_BYTES as usize] {
            let count = 8 * CHUNK_BYTES as usize / block_bytes(size);
            let mut objects: Vec<_> = (0..count)
                .map(|index| Object::alloc(&worker, size, index as u64, Extent::Ends).unwrap())
                .collect();
            assert!(source.held() >= 8);
            prove(&arena);
            Rng::new(size as u64).shuffle(&mut objects);
            objects.into_iter().for_each(|object| object.free(&worker));
            worker.flush().unwrap();
            prove(&arena);
        }
        drop(worker);
        let found = prove_idle(&arena);
        assert_eq!(u64::from(source.held()), u64::from(found.chunks));
        // The arena's own chunk, one spare, and what batches in transfer still pin.
        let pinned = found.in_transfer_bytes / 1024;
        assert!(u64::from(found.chunks) <= 2 + pinned, "{found:?}");
        // SAFETY: the only worker is detached and nothing is allocated.
        unsafe { arena.destroy() }.unwrap();
        assert_eq!(source.held(), 0);
    }
}
