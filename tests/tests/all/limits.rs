//! How far an arena grows: on demand, by `grow`, never by `alloc_nogrow`, and not beyond its limit;
//! and what it says of pointers.

use warena::{
    AllocError, ArenaError, CHUNK_BYTES, Config, FreeError, MAX_BLOCK_BYTES, MappedMemory,
};
use warena_tests::{
    CONFIGS, CountedSource, Extent, Object, arena, block_bytes, free_blocks, prove, prove_idle,
};

const CHUNK: usize = CHUNK_BYTES as usize;
const LARGEST: usize = MAX_BLOCK_BYTES as usize;

#[test]
fn an_arena_does_not_outgrow_its_limit() {
    for max_chunks in [1, 2, 5] {
        for (name, config) in CONFIGS {
            let source = CountedSource::new(16 << 20);
            let config = Config {
                max_chunks,
                ..config
            };
            let arena = arena(&source, config);
            let worker = arena.attach().unwrap();
            let refused = worker.alloc(max_chunks as usize * CHUNK);
            assert_eq!(
                refused,
                Err(AllocError::OutOfMemory),
                "{name}: with its own it is more"
            );
            let mut objects: Vec<Object> = Vec::new();
            let mut fill = |size| {
                while let Ok(object) = Object::alloc(&worker, size, 1, Extent::Ends) {
                    objects.push(object);
                }
            };
            if max_chunks > 2 {
                fill(2 * CHUNK);
            }
            fill(LARGEST);
            fill(64);
            assert_eq!(source.held(), max_chunks, "{name}");
            assert_eq!(
                source.refused(),
                0,
                "{name}: asked for more than it may have"
            );
            assert_eq!(arena.grow(1), Ok(0));
            assert_eq!(prove(&arena).free_bytes % 64, 0);
            objects.into_iter().for_each(|object| object.free(&worker));
            let again = Object::alloc(&worker, LARGEST, 1, Extent::Ends).unwrap();
            again.free(&worker);
            drop(worker);
            prove_idle(&arena);
        }
    }
    let source = MappedMemory::new(4 << 20).unwrap();
    for max_chunks in [0, 4097] {
        let config = Config {
            max_chunks,
            ..Config::DEFAULT
        };
        let Err(ArenaError::Config(error)) =
            warena::Arena::create(&source, config, warena::Context::MayWait)
        else {
            panic!("{max_chunks} chunks were allowed");
        };
        assert_eq!(
            error.to_string(),
            format!("max_chunks is {max_chunks}; it must be 1 ..= 4096")
        );
    }
}

#[test]
fn growing_ahead_spares_growing_later() {
    let source = CountedSource::new(8 << 20);
    let arena = arena(&source, Config::NO_CACHES);
    let worker = arena.attach().unwrap();
    assert_eq!(
        worker
            .alloc_nogrow(LARGEST)
            .map(|block| worker.free(block.as_ptr())),
        Ok(Ok(()))
    );
    assert_eq!(arena.grow(3), Ok(3));
    assert_eq!(source.held(), 4);
    let blocks = [(); 4].map(|()| worker.alloc_nogrow(LARGEST).unwrap());
    assert_eq!(source.held(), 4);
    assert_eq!(worker.alloc_nogrow(LARGEST), Err(AllocError::OutOfMemory));
    // Three more are left below the memory's maximum.
    assert_eq!(arena.grow(10), Ok(3));
    assert_eq!(arena.grow(0), Ok(0));
    prove(&arena);
    blocks
        .iter()
        .for_each(|block| worker.free(block.as_ptr()).unwrap());
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn allocating_without_growth_looks_everywhere_else_and_never_grows() {
    for (name, config) in CONFIGS {
        let source = CountedSource::new(8 << 20);
        let arena = arena(&source, config);
        let worker = arena.attach().unwrap();
        let mut objects = Vec::new();
        while let Ok(object) = worker.alloc_nogrow(64) {
            objects.push(object.as_ptr());
        }
        assert_eq!((source.held(), prove(&arena).free_bytes), (1, 0), "{name}");
        assert_eq!(worker.alloc_nogrow(CHUNK), Err(AllocError::OutOfMemory));
        let mut out = [std::ptr::null_mut(); 8];
        let bulk = worker.alloc_bulk_nogrow(64, 3, &mut out);
        assert_eq!(bulk, Err(AllocError::OutOfMemory));
        assert!(out.iter().all(|pointer| pointer.is_null()));
        assert_eq!(source.acquired(), 1, "{name}: grew");
        // One in the cache is found there.
        worker.free(objects[7]).unwrap();
        assert_eq!(
            worker.alloc_nogrow(64).unwrap().as_ptr(),
            objects[7],
            "{name}"
        );
        for pointer in objects {
            worker.free(pointer).unwrap();
        }
        // Caches and transfer caches are full of units; gathered, they make what is asked for.
        worker.alloc_bulk_nogrow(64, 3, &mut out).unwrap();
        let stride = out
            .windows(2)
            .all(|pair| pair[1] as usize - pair[0] as usize == 64);
        assert!(stride, "{name}");
        assert_eq!(worker.free_bulk(&out, |_, error| panic!("{error}")), 8);
        let large = worker.alloc_nogrow(LARGEST).unwrap();
        worker.free(large.as_ptr()).unwrap();
        assert_eq!(source.acquired(), 1, "{name}: grew");
        drop(worker);
        prove_idle(&arena);
    }
}

#[test]
fn bug_15_owns_and_usable_size_look_into_nothing_that_is_not_ours() {
    let source = CountedSource::new(16 << 20);
    let (arena, neighbour) = (
        arena(&source, Config::DEFAULT),
        arena(&source, Config::DEFAULT),
    );
    let (worker, stranger) = (arena.attach().unwrap(), neighbour.attach().unwrap());
    for size in [1, 16, 17, 100, 2048, 5000, LARGEST, LARGEST + 1, 3 * CHUNK] {
        let object = Object::alloc(&worker, size, 1, Extent::Ends).unwrap();
        let pointer = object.pointer();
        assert_eq!(worker.usable_size(pointer), Ok(block_bytes(size)));
        assert!(worker.owns(pointer) && worker.owns(pointer.wrapping_add(size - 1)));
        assert!(!stranger.owns(pointer));
        assert_eq!(stranger.usable_size(pointer), Err(FreeError::Foreign));
        assert_eq!(stranger.free(pointer), Err(FreeError::Foreign));
        object.free(&worker);
    }
    let memory = {
        use warena::ChunkSource;
        source.memory()
    };
    // Free blocks and the allocator's own are the arena's too, though nobody can free them.
    let (free, _) = free_blocks(memory, &arena).next().unwrap();
    for (address, wanted) in [
        (free, FreeError::NotAllocated),
        (arena.address(), FreeError::Metadata),
    ] {
        let pointer = memory.pointer::<u8>(address);
        assert!(worker.owns(pointer));
        assert_eq!(worker.usable_size(pointer), Err(wanted));
    }
    let local = 0_u64;
    for foreign in [
        std::ptr::null(),
        std::ptr::without_provenance(8),
        std::ptr::without_provenance(usize::MAX),
        std::ptr::from_ref(&local).cast(),
        memory.pointer::<u8>(0).cast_const(),
        memory.pointer::<u8>(u32::MAX).cast_const(),
    ] {
        assert!(!worker.owns(foreign));
        assert_eq!(worker.usable_size(foreign), Err(FreeError::Foreign));
    }
    drop((worker, stranger));
    prove_idle(&arena);
    prove_idle(&neighbour);
}
