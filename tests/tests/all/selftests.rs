//! The seeds' selftests, thought through again for this allocator: making and ending arenas,
//! alignment, bulk allocation, interior pointers. What moves through caches is in `caches`.

use std::collections::BTreeSet;
use std::ptr::null_mut;
use warena::{
    AllocError, Arena, ArenaError, CHUNK_BYTES, Config, Context, FreeError, MAX_BLOCK_BYTES,
    MappedMemory,
};
use warena_tests::{
    CountedSource, Extent, Intervals, Object, Rng, arena, block_bytes, prove, prove_idle, soak,
    whole_bytes,
};

const MEMORY: u64 = 64 << 20;
/// A size that is no power of two.
const SIZE: usize = 200;

fn memory() -> MappedMemory {
    MappedMemory::new(MEMORY).expect("address space")
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
        let stride = whole_bytes(size);
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
    assert_eq!(freed, 3);
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
