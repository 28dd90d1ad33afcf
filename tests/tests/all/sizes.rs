//! Sizes that broke other allocators: each test is named after its row in the list of their
//! failures, and covers the kind, not only the input that was reported.

use std::collections::BTreeSet;
use warena::{AllocError, CHUNK_BYTES, Config, MAX_BLOCK_BYTES, MAX_ORDER, Stats};
use warena_tests::{
    CONFIGS, CountedSource, Extent, Object, Rng, arena, block_bytes, prove, prove_idle, soak,
    whole_bytes,
};

const LARGEST: usize = MAX_BLOCK_BYTES as usize;

#[test]
fn bug_1_impossible_sizes_fail_and_take_no_memory() {
    let source = CountedSource::new(64 << 20);
    for (_, config) in CONFIGS {
        let arena = arena(&source, config);
        let worker = arena.attach().unwrap();
        let before = (arena.stats(), source.acquired());
        let sizes = [
            // This memory has 64 chunks, the first of them nobody's, one the arena's.
            (62 << 20) + 1,
            0x8000_0000,
            0x8000_0001,
            0xffff_fff0,
            0xffff_fff7,
            0xffff_ffff,
            // Sizes whose low 32 bits look small: nothing may cut them off.
            1 << 32,
            (1 << 32) + 3,
            (1 << 32) + 16,
            isize::MAX as usize,
            usize::MAX - 15,
            usize::MAX,
        ];
        for size in sizes {
            // What some memory could hold is refused by this one; what none could, by its size.
            let wanted = if size > 0xfff0_0000 {
                AllocError::TooLarge
            } else {
                AllocError::OutOfMemory
            };
            for _ in 0..1000 {
                assert_eq!(worker.alloc(size), Err(wanted), "{size:#x}");
            }
            let mut out = [std::ptr::null_mut(); 8];
            let refused = worker.alloc_bulk(size, 3, &mut out);
            assert_eq!(refused, Err(AllocError::TooLarge), "{size:#x}");
        }
        // A product that overflows 32 bits: 8 objects of 512 MiB.
        let mut out = [std::ptr::null_mut(); 8];
        assert!(worker.alloc_bulk(0x2000_0001, 3, &mut out).is_err());
        // Only the lock was taken, to find that there is no room.
        let after = Stats {
            heap_locks: before.0.heap_locks,
            ..arena.stats()
        };
        assert_eq!((after, source.acquired()), before);
        Object::alloc(&worker, 16, 1, Extent::Whole)
            .unwrap()
            .free(&worker);
        drop(worker);
        prove_idle(&arena);
    }
}

#[test]
fn bug_2_a_size_of_zero_is_an_error_and_null_is_nobodys() {
    let source = CountedSource::new(8 << 20);
    for config in [Config::DEFAULT, Config::NO_CACHES] {
        let arena = arena(&source, config);
        let worker = arena.attach().unwrap();
        let before = (arena.stats(), source.acquired());
        for _ in 0..soak(1_000_000) {
            assert_eq!(worker.alloc(0), Err(AllocError::ZeroSize));
            assert_eq!(worker.free(std::ptr::null_mut()), Ok(()));
        }
        assert_eq!((arena.stats(), source.acquired()), before);
        drop(worker);
        prove_idle(&arena);
    }
}

#[test]
fn bug_4_sizes_just_below_a_page_multiple_grow_once_at_most() {
    for pages in 1..=8 {
        for less in [0, 1, 8, 16, 32, 40] {
            let size = pages * 65_536 - less;
            let source = CountedSource::new(64 << 20);
            let arena = arena(&source, Config::DEFAULT);
            let worker = arena.attach().unwrap();
            let mut objects = Vec::new();
            for stamp in 0..6 {
                let before = source.acquired();
                objects.push(Object::alloc(&worker, size, stamp, Extent::Ends).unwrap());
                assert!(source.acquired() <= before + 1, "{size:#x}");
            }
            let blocks = objects.len() * whole_bytes(size);
            let owned = arena.stats().owned_bytes as usize;
            // Each chunk gives its upper half, and half of its lower one to smaller blocks.
            assert!(owned <= 2 * blocks + CHUNK_BYTES as usize, "{size:#x}");
            objects.into_iter().for_each(|object| object.free(&worker));
            drop(worker);
            prove_idle(&arena);
        }
    }
}

#[test]
fn bug_5_refused_growth_is_an_answer_and_changes_nothing() {
    let source = CountedSource::new(4 << 20);
    for (name, config) in CONFIGS {
        let arena = arena(&source, config);
        let worker = arena.attach().unwrap();
        let mut large = Vec::new();
        while let Ok(object) = Object::alloc(&worker, LARGEST, 1, Extent::Ends) {
            large.push(object);
        }
        assert_eq!(
            large.len(),
            3,
            "{name}: three chunks of this memory are usable"
        );
        let before = prove(&arena);
        let refused = source.refused();
        for _ in 0..1000 {
            let again = worker.alloc(LARGEST);
            assert_eq!(again, Err(AllocError::OutOfMemory), "{name}");
        }
        assert_eq!(source.refused(), refused + 1000);
        assert_eq!(prove(&arena), before, "{name}");

        // Small ones are still served, to the very last.
        let mut small = Vec::new();
        loop {
            match Object::alloc(&worker, 16, small.len() as u64, Extent::Whole) {
                Ok(object) => small.push(object),
                Err(error) => {
                    assert_eq!(error, AllocError::OutOfMemory);
                    break;
                }
            }
        }
        let full = prove(&arena);
        assert_eq!(full.free_bytes, 0, "{name}: out of memory with memory free");
        assert_eq!(full.cached_bytes + full.in_transfer_bytes, 0, "{name}");
        Rng::new(5).shuffle(&mut small);
        large
            .into_iter()
            .chain(small)
            .for_each(|object| object.free(&worker));
        worker.flush().unwrap();
        prove(&arena);
        for size in [64 << 10, LARGEST] {
            Object::alloc(&worker, size, 2, Extent::Whole)
                .unwrap()
                .free(&worker);
        }
        drop(worker);
        prove_idle(&arena);
        // SAFETY: nothing is attached or allocated.
        unsafe { arena.destroy() }.unwrap();
        assert_eq!(source.held(), 0);
    }
}

#[test]
fn bug_5_memory_in_caches_is_served_before_a_refusal() {
    // All memory is cut to 64 bytes and freed into caches; then a block is asked for that only
    // coalescing them can give.
    let source = CountedSource::new(2 << 20);
    for (name, config) in CONFIGS {
        let arena = arena(&source, config);
        let worker = arena.attach().unwrap();
        let mut objects = Vec::new();
        while let Ok(object) = Object::alloc(&worker, 64, objects.len() as u64, Extent::Ends) {
            objects.push(object);
        }
        Rng::new(6).shuffle(&mut objects);
        objects.into_iter().for_each(|object| object.free(&worker));
        let object = Object::alloc(&worker, LARGEST, 1, Extent::Ends)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        object.free(&worker);
        drop(worker);
        prove_idle(&arena);
        // SAFETY: nothing is attached or allocated.
        unsafe { arena.destroy() }.unwrap();
    }
}

#[test]
fn bug_7_every_size_is_aligned_whatever_the_caches_hold() {
    let source = CountedSource::new(64 << 20);
    for (_, config) in CONFIGS {
        let arena = arena(&source, config);
        let worker = arena.attach().unwrap();
        // Warm the caches with the smallest objects, at addresses of every alignment.
        let warm: Vec<_> = (0..100)
            .map(|index| Object::alloc(&worker, 8 + index % 9, 1, Extent::Whole).unwrap())
            .collect();
        warm.into_iter().for_each(|object| object.free(&worker));
        let mut objects = Vec::new();
        for exponent in 0..=MAX_ORDER + 4 {
            let align = 1 << exponent;
            // A request of size `align` is aligned to it: what an aligned allocation relies on.
            // `Object` itself checks the alignment to the whole block.
            for size in [align - 1, align, align + 1] {
                if (1..=LARGEST).contains(&size) {
                    let object = Object::alloc(&worker, size, 2, Extent::Whole).unwrap();
                    assert!(block_bytes(size) >= size);
                    objects.push(object);
                }
            }
        }
        objects.into_iter().for_each(|object| object.free(&worker));
        drop(worker);
        prove_idle(&arena);
    }
}

#[test]
fn bug_24_two_blocks_freed_in_order_do_not_leak() {
    let source = CountedSource::new(64 << 20);
    for (name, config) in CONFIGS {
        let arena = arena(&source, config);
        let worker = arena.attach().unwrap();
        for (first, second) in [(85_196, 80_000), (16, 17), (4096, 4097), (LARGEST, 1)] {
            let mut chunks = BTreeSet::new();
            for round in 0..soak(2_000) {
                let a = Object::alloc(&worker, first, 1, Extent::Ends).unwrap();
                let b = Object::alloc(&worker, second, 2, Extent::Ends).unwrap();
                a.free(&worker);
                b.free(&worker);
                if round > 0 {
                    chunks.insert(source.held());
                }
            }
            assert_eq!(chunks.len(), 1, "{name}: {first} and {second} leak");
        }
        drop(worker);
        prove_idle(&arena);
    }
}
