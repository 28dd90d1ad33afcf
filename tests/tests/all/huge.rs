//! Huge blocks: requests that no chunk can hold, from one byte more than its largest block to the
//! whole memory.

use warena::{AllocError, CHUNK_BYTES, Config, FreeError, MAX_BLOCK_BYTES};
use warena_tests::{
    CONFIGS, CountedSource, Extent, Object, Rng, arena, block_bytes, prove, prove_idle, soak,
};

const CHUNK: usize = CHUNK_BYTES as usize;

#[test]
fn every_size_up_to_the_whole_memory_is_served() {
    // 64 chunks, of which the first is nobody's and the next the arena's.
    let source = CountedSource::new(64 << 20);
    for (name, config) in CONFIGS {
        let arena = arena(&source, config);
        let worker = arena.attach().unwrap();
        let sizes = [
            MAX_BLOCK_BYTES as usize + 1,
            CHUNK,
            CHUNK + 1,
            2 * CHUNK - 1,
            7 * CHUNK + 5,
            33 * CHUNK,
            62 * CHUNK,
        ];
        for size in sizes {
            let object = Object::alloc(&worker, size, 1, Extent::Ends).unwrap();
            assert_eq!(object.pointer() as usize % CHUNK, 0);
            assert_eq!(worker.usable_size(object.pointer()), Ok(block_bytes(size)));
            let found = prove(&arena);
            assert_eq!(
                (found.huge_blocks, found.allocated_objects),
                (1, 1),
                "{name}"
            );
            assert_eq!(found.allocated_bytes, block_bytes(size) as u64);
            assert_eq!(arena.stats().huge_chunks as usize, size.div_ceil(CHUNK));
            object.free(&worker);
            assert_eq!(arena.stats().huge_chunks, 0);
        }
        assert_eq!(worker.alloc(62 * CHUNK + 1), Err(AllocError::OutOfMemory));
        drop(worker);
        prove_idle(&arena);
        // SAFETY: nothing is attached or allocated.
        unsafe { arena.destroy() }.unwrap();
        assert_eq!(source.held(), 0);
    }
}

#[test]
fn runs_that_went_back_coalesce_and_are_used_again() {
    let source = CountedSource::new(12 << 20);
    let arena = arena(&source, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1]] {
        let runs = [2, 5, 3].map(|chunks| {
            Object::alloc(&worker, chunks * CHUNK, chunks as u64, Extent::Ends).unwrap()
        });
        assert_eq!(
            worker.alloc(CHUNK),
            Err(AllocError::OutOfMemory),
            "all is taken"
        );
        let lowest = runs.iter().map(|run| run.pointer() as usize).min();
        let mut runs = runs.map(Some);
        for index in order {
            runs[index].take().unwrap().free(&worker);
            prove(&arena);
        }
        let grown = source.acquired();
        let sum = Object::alloc(&worker, 10 * CHUNK, 1, Extent::Ends).unwrap();
        assert_eq!(Some(sum.pointer() as usize), lowest);
        assert_eq!(source.acquired(), grown + 10);
        sum.free(&worker);
    }
    // A chunk of blocks that became empty joins them too.
    let blocks = [(); 4].map(|()| worker.alloc(MAX_BLOCK_BYTES as usize).unwrap());
    blocks
        .iter()
        .for_each(|block| worker.free(block.as_ptr()).unwrap());
    let sum = Object::alloc(&worker, 9 * CHUNK, 1, Extent::Ends).unwrap();
    sum.free(&worker);
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn bad_frees_of_huge_blocks_are_named() {
    let source = CountedSource::new(16 << 20);
    let arena = arena(&source, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    let object = Object::alloc(&worker, 3 * CHUNK, 1, Extent::Whole).unwrap();
    let start = object.pointer();
    let before = arena.stats();
    for (offset, wanted) in [
        (16, FreeError::Interior),
        (1, FreeError::Unaligned),
        (CHUNK / 2, FreeError::Interior),
        (CHUNK, FreeError::Interior),
        (2 * CHUNK, FreeError::Interior),
        (3 * CHUNK - 16, FreeError::Interior),
        (2 * CHUNK + 3, FreeError::Unaligned),
    ] {
        let pointer = start.wrapping_add(offset);
        assert_eq!(worker.free(pointer), Err(wanted), "{offset:#x}");
        assert_eq!(worker.free_nowait(pointer), Err(wanted), "{offset:#x}");
        assert!(worker.owns(pointer));
    }
    object.check();
    assert_eq!(arena.stats(), before);
    object.free(&worker);
    for offset in [0, 16, CHUNK, 2 * CHUNK] {
        let pointer = start.wrapping_add(offset);
        assert_eq!(
            worker.free(pointer),
            Err(FreeError::NotAllocated),
            "{offset:#x}"
        );
        assert!(!worker.owns(pointer), "the run went back");
    }
    let mut refused = Vec::new();
    worker.free_bulk(&[start], |index, error| refused.push((index, error)));
    assert_eq!(refused, [(0, FreeError::NotAllocated)]);
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn four_workers_take_and_free_runs_of_all_lengths() {
    let source = CountedSource::new(48 << 20);
    let arena = arena(&source, Config::DEFAULT);
    std::thread::scope(|scope| {
        for number in 0..4 {
            let arena = &arena;
            scope.spawn(move || {
                let worker = arena.attach().unwrap();
                let mut rng = Rng::new(number);
                let mut kept = Vec::new();
                for step in 0..soak(2_000) {
                    let size = rng.below(6 * CHUNK) + 1;
                    match Object::alloc(&worker, size, step as u64, Extent::Ends) {
                        Ok(object) => kept.push(object),
                        Err(error) => assert_eq!(error, AllocError::OutOfMemory),
                    }
                    while kept.len() > rng.below(5) {
                        let object: Object = kept.swap_remove(rng.below(kept.len()));
                        object.free(&worker);
                    }
                }
                kept.into_iter().for_each(|object| object.free(&worker));
            });
        }
    });
    prove_idle(&arena);
    // SAFETY: nothing is attached or allocated.
    unsafe { arena.destroy() }.unwrap();
    assert_eq!(source.held(), 0);
}
