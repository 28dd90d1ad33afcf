//! `realloc`: row 9 of the failures of other allocators, and where a block stays or goes.

use warena::{AllocError, CHUNK_BYTES, Config, FreeError, MAX_BLOCK_BYTES, ReallocError, Stats};
use warena_tests::{
    CONFIGS, CountedSource, Extent, GatedSource, Object, Rng, arena, block_bytes, hurried, prove,
    prove_idle, soak,
};

const CHUNK: usize = CHUNK_BYTES as usize;

#[test]
fn bug_9_resizing_keeps_bytes_and_leaks_nothing() {
    let source = CountedSource::new(32 << 20);
    for (name, config) in CONFIGS {
        let arena = arena(&source, config);
        let worker = arena.attach().unwrap();
        let mut object = Object::alloc(&worker, 100, 1, Extent::Whole).unwrap();
        for (stamp, size) in [40, 1 << 20, 100, 3 << 20, 2 << 20, 513 << 10, 16, 1]
            .into_iter()
            .enumerate()
        {
            // `Object` compares what is kept.
            object.realloc(&worker, size, stamp as u64).unwrap();
            assert!(worker.usable_size(object.pointer()).unwrap() >= size);
            assert_eq!(
                prove(&arena).allocated_objects,
                1,
                "{name}: the old block leaks"
            );
        }
        for size in [0xffff_fff0, (1 << 32) + 16, usize::MAX] {
            let refused = object.realloc(&worker, size, 0);
            assert_eq!(refused, Err(ReallocError::Size(AllocError::TooLarge)));
        }
        let refused = object.realloc(&worker, 0, 0);
        assert_eq!(refused, Err(ReallocError::Size(AllocError::ZeroSize)));
        // More than this memory has: the old block is as it was.
        let refused = object.realloc(&worker, 64 << 20, 0);
        assert_eq!(refused, Err(ReallocError::Size(AllocError::OutOfMemory)));
        object.free(&worker);
        let fresh = worker.realloc(std::ptr::null_mut(), 8).unwrap();
        worker.free(fresh.as_ptr()).unwrap();
        drop(worker);
        prove_idle(&arena);
    }
}

#[test]
fn bug_9_ten_thousand_resizes_do_not_grow_the_heap() {
    let source = CountedSource::new(64 << 20);
    for (name, config) in CONFIGS {
        let arena = arena(&source, config);
        let worker = arena.attach().unwrap();
        let (rounds, mut warm) = (soak(10_000), 0);
        for round in 0..rounds {
            let pointer = worker.alloc(100).unwrap().as_ptr();
            // SAFETY: just allocated; resized blocks keep the byte.
            unsafe { pointer.write(round as u8) };
            let resized = [40, 1 << 20, 3000, 40_000, 700]
                .into_iter()
                .fold(pointer, |old, size| {
                    worker.realloc(old, size).unwrap().as_ptr()
                });
            // SAFETY: as above.
            assert_eq!(unsafe { resized.read() }, round as u8);
            worker.free(resized).unwrap();
            if round == rounds / 10 {
                // The caches are full: each object in them may hold on to what it was cut from.
                warm = source.held();
            }
            assert!(
                round <= rounds / 10 || source.held() == warm,
                "{name}: round {round}"
            );
        }
        assert!(warm <= 12, "{name}: {warm} chunks for one object of 1 MiB");
        drop(worker);
        prove_idle(&arena);
        // SAFETY: nothing is attached or allocated.
        unsafe { arena.destroy() }.unwrap();
    }
}

#[test]
fn bug_9_an_object_of_every_size_in_turn_needs_no_more_than_itself_twice() {
    // Without caches: a cached object holds on to its chunk.
    let source = CountedSource::new(64 << 20);
    let arena = arena(&source, Config::NO_CACHES);
    let worker = arena.attach().unwrap();
    let mut rng = Rng::new(9);
    let mut object = Object::alloc(&worker, 1, 0, Extent::Whole).unwrap();
    let mut most = 0;
    for step in 0..soak(10_000) {
        let size = if rng.below(50) == 0 {
            rng.below(2 * CHUNK) + 1
        } else {
            rng.size(13)
        };
        object.realloc(&worker, size, step as u64).unwrap();
        if step % 100 == 0 {
            assert_eq!(prove(&arena).allocated_objects, 1);
        }
        most = most.max(source.held());
    }
    // Old and new at once, the arena's own chunk, and one spare.
    assert!(most <= 6, "{most} chunks for one object of 2 MiB");
    object.free(&worker);
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn a_block_that_fits_stays_and_one_that_shrinks_gives_its_upper_halves_away() {
    let source = CountedSource::new(8 << 20);
    let arena = arena(&source, Config::NO_CACHES);
    let worker = arena.attach().unwrap();
    let mut object = Object::alloc(&worker, 20_000, 1, Extent::Whole).unwrap();
    let start = object.pointer();
    let before = arena.stats();
    let blocks = prove(&arena).blocks;
    let before = Stats {
        heap_locks: before.heap_locks + 1,
        ..before
    };
    object.realloc(&worker, 20_480, 2).unwrap();
    object.realloc(&worker, 16_385, 3).unwrap();
    assert_eq!((object.pointer(), arena.stats()), (start, before));
    for size in [24_576, 32_768, 20_481, 18_000, 16_384, 9000, 4096, 1000, 16] {
        object.realloc(&worker, size, 4).unwrap();
        assert_eq!(object.pointer(), start);
        assert_eq!(prove(&arena).allocated_bytes, block_bytes(size) as u64);
    }
    // Each split makes one block more, each merge one less.
    let made = |stats: &Stats| stats.splits - stats.merges;
    assert_eq!(
        made(&arena.stats()) - made(&before),
        prove(&arena).blocks - blocks
    );
    // What went is really there for others.
    let next = Object::alloc(&worker, 16, 5, Extent::Whole).unwrap();
    assert_eq!(next.pointer() as usize, start as usize + 16);
    next.free(&worker);
    object.free(&worker);
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn a_block_grows_where_it_is_when_its_buddies_are_free_and_moves_when_not() {
    let source = CountedSource::new(8 << 20);
    let arena = arena(&source, Config::NO_CACHES);
    let worker = arena.attach().unwrap();
    let mut neighbours = [std::ptr::null_mut(); 4];
    worker.alloc_bulk(1024, 2, &mut neighbours).unwrap();
    let [mut a, b, mut c, d] = neighbours.map(|pointer| {
        let pointer = std::ptr::NonNull::new(pointer).unwrap();
        // SAFETY: just allocated for 1,024 bytes.
        unsafe { Object::adopt(pointer, 1024, 1, Extent::Whole) }
    });
    let starts = [&a, &b, &c, &d].map(|object| object.pointer() as usize);
    assert_eq!(starts, [0, 1, 2, 3].map(|index| starts[0] + index * 1024));
    assert_eq!(starts[0] % 4096, 0);
    // The buddy is allocated.
    a.realloc(&worker, 2048, 10).unwrap();
    assert_ne!(
        a.pointer() as usize,
        starts[0],
        "grew over a live neighbour"
    );
    b.check();
    // The buddy is free, but this is the upper half.
    let mut b = b;
    b.realloc(&worker, 2000, 11).unwrap();
    assert_ne!(b.pointer() as usize, starts[1]);
    // The lower half, whose buddy becomes free.
    d.free(&worker);
    c.realloc(&worker, 2048, 12).unwrap();
    assert_eq!(c.pointer() as usize, starts[2]);
    prove(&arena);
    // Upper half of the next size: its lower half is free, and it moves all the same.
    c.realloc(&worker, 4096, 13).unwrap();
    assert!(!(starts[0] + 1..starts[0] + 4096).contains(&(c.pointer() as usize)));
    [a, b, c]
        .into_iter()
        .for_each(|object| object.free(&worker));

    // Over several orders at once, and not when one of the buddies is cut.
    let small = worker.alloc_aligned(16, 65_536).unwrap();
    // SAFETY: just allocated for 16 bytes.
    let mut small = unsafe { Object::adopt(small, 16, 1, Extent::Whole) };
    let start = small.pointer();
    small.realloc(&worker, 16 << 10, 2).unwrap();
    assert_eq!(small.pointer(), start);
    assert_eq!(prove(&arena).allocated_bytes, 16 << 10);
    small.realloc(&worker, 16, 3).unwrap();
    // Cut one buddy, behind one that stays free: take small blocks until one lies there.
    let cut = start as usize + 2048..start as usize + 4096;
    let mut taken = Vec::new();
    let in_the_way = loop {
        let pointer = worker.alloc(16).unwrap().as_ptr();
        if cut.contains(&(pointer as usize)) {
            break pointer;
        }
        taken.push(pointer);
    };
    taken
        .iter()
        .for_each(|&pointer| worker.free(pointer).unwrap());
    small.realloc(&worker, 1024, 4).unwrap();
    assert_eq!(small.pointer(), start, "all below the cut is free");
    small.realloc(&worker, 8192, 5).unwrap();
    assert_ne!(small.pointer(), start, "one of the buddies is cut");
    worker.free(in_the_way).unwrap();
    small.free(&worker);
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn a_huge_block_shrinks_where_it_is_and_moves_to_grow() {
    let source = CountedSource::new(32 << 20);
    let arena = arena(&source, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    let mut object = Object::alloc(&worker, 5 * CHUNK, 1, Extent::Whole).unwrap();
    let start = object.pointer();
    object.realloc(&worker, 4 * CHUNK + 1, 2).unwrap();
    assert_eq!((object.pointer(), arena.stats().huge_chunks), (start, 5));
    object.realloc(&worker, 2 * CHUNK, 3).unwrap();
    assert_eq!((object.pointer(), arena.stats().huge_chunks), (start, 2));
    assert_eq!(worker.usable_size(start), Ok(2 * CHUNK));
    prove(&arena);
    let tail = start.wrapping_add(3 * CHUNK);
    assert_eq!(
        worker.free(tail),
        Err(FreeError::NotAllocated),
        "the rest went back"
    );
    object.realloc(&worker, 8 * CHUNK, 4).unwrap();
    assert_eq!(arena.stats().huge_chunks, 8);
    object
        .realloc(&worker, MAX_BLOCK_BYTES as usize, 5)
        .unwrap();
    assert_eq!(arena.stats().huge_chunks, 0);
    object.realloc(&worker, CHUNK, 6).unwrap();
    prove(&arena);
    object.free(&worker);
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn what_cannot_be_freed_cannot_be_resized() {
    let source = CountedSource::new(16 << 20);
    let arena = arena(&source, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    let object = Object::alloc(&worker, 100, 1, Extent::Whole).unwrap();
    let huge = Object::alloc(&worker, 2 * CHUNK, 2, Extent::Ends).unwrap();
    let freed = worker.alloc(100).unwrap().as_ptr();
    worker.free(freed).unwrap();
    let cases = [
        (object.pointer().wrapping_add(16), FreeError::Interior),
        (object.pointer().wrapping_add(1), FreeError::Unaligned),
        (huge.pointer().wrapping_add(CHUNK), FreeError::Interior),
        (huge.pointer().wrapping_add(64), FreeError::Interior),
        (freed, FreeError::Cached),
        (std::ptr::without_provenance_mut(16), FreeError::Foreign),
    ];
    let before = arena.stats();
    for (pointer, wanted) in cases {
        for size in [1, 5000, 3 * CHUNK, usize::MAX] {
            let refused = worker.realloc(pointer, size);
            assert_eq!(refused, Err(ReallocError::Pointer(wanted)));
        }
        assert_eq!(worker.usable_size(pointer), Err(wanted));
    }
    assert_eq!(arena.stats(), before);
    object.free(&worker);
    huge.free(&worker);
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn resizing_while_the_heap_is_busy_leaves_the_block_whole() {
    let source = GatedSource::new(16 << 20);
    let arena = arena(&source, Config::DEFAULT);
    let hurried = hurried(&source, &arena);
    let worker = hurried.attach().unwrap();
    let mut object = Object::alloc(&worker, 5000, 1, Extent::Whole).unwrap();
    let mut huge = Object::alloc(&worker, 3 * CHUNK, 2, Extent::Whole).unwrap();
    source.while_locked(&arena, || {
        // Too large is right as well, so shrinking succeeds and gives nothing away.
        let start = object.pointer();
        object.realloc(&worker, 100, 3).unwrap();
        assert_eq!(
            (object.pointer(), worker.usable_size(start)),
            (start, Ok(5120))
        );
        let busy = Err(ReallocError::Size(AllocError::Busy));
        assert_eq!(object.realloc(&worker, 10_000, 4), busy);
        assert_eq!(huge.realloc(&worker, CHUNK, 5), busy);
    });
    object.realloc(&worker, 10_000, 6).unwrap();
    huge.realloc(&worker, CHUNK, 7).unwrap();
    object.free(&worker);
    huge.free(&worker);
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn bug_16_a_free_goes_by_the_blocks_own_size_whatever_the_program_believes() {
    // No call takes a size beside the pointer, so a wrong one cannot reach a neighbour: what goes
    // is what the block map says, resized or not.
    let source = CountedSource::new(16 << 20);
    let arena = arena(&source, Config::NO_CACHES);
    let worker = arena.attach().unwrap();
    for (size, resized) in [(387_646, 137_198), (137_198, 387_646), (100, 50), (50, 100)] {
        let mut object = Object::alloc(&worker, size, 1, Extent::Whole).unwrap();
        let neighbours =
            [(); 8].map(|()| Object::alloc(&worker, size.min(resized), 2, Extent::Whole).unwrap());
        object.realloc(&worker, resized, 3).unwrap();
        let before = arena.stats().allocated_bytes;
        object.free(&worker);
        let gone = before - arena.stats().allocated_bytes;
        assert_eq!(gone as usize, block_bytes(resized));
        for neighbour in neighbours {
            neighbour.free(&worker);
        }
        prove(&arena);
    }
    drop(worker);
    prove_idle(&arena);
}
