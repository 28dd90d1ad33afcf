//! Every way to free what cannot be freed. Each is refused with the error that names it, and
//! nothing changes: not one byte of any chunk, no counter, and the object is still there.

use std::ptr::without_provenance_mut;
use warena::{
    Arena, CHUNK_BYTES, ChunkSource, Config, FreeError, Layout, MAX_BLOCK_BYTES, MappedMemory,
    Worker,
};
use warena_tests::{
    CONFIGS, Extent, NARROW, Object, Rng, arena, block_bytes, free_blocks, prove, prove_idle, soak,
};

const MEMORY: u64 = 32 << 20;

fn memory() -> MappedMemory {
    MappedMemory::new(MEMORY).expect("address space")
}

/// All bytes of the first five chunks of a memory: the one that is nobody's, and those where the
/// small arenas of these tests are.
fn contents<S: ChunkSource>(source: &S) -> Vec<u8> {
    let bytes = 5 * CHUNK_BYTES as usize;
    // SAFETY: mapped memory is readable from address 0 on, and nobody writes meanwhile.
    unsafe { std::slice::from_raw_parts(source.memory().pointer::<u8>(0), bytes) }.to_vec()
}

/// Frees `pointer` by `worker`, alone and in bulk: both must name `wanted` and change nothing.
fn refuses<S: ChunkSource>(
    arena: &Arena<&S>,
    source: &S,
    worker: &Worker<'_, &S>,
    pointer: *mut u8,
    wanted: FreeError,
) {
    let proof = prove(arena);
    let stats = arena.stats();
    let bytes = contents(source);
    assert_eq!(worker.free(pointer), Err(wanted), "free of {pointer:p}");
    assert!(
        contents(source) == bytes,
        "free of {pointer:p} ({wanted:?}) wrote to memory"
    );
    assert_eq!(arena.stats(), stats);

    let mut refused = Vec::new();
    let freed = worker.free_bulk(&[pointer], |index, error| refused.push((index, error)));
    assert_eq!((freed, &refused[..]), (0, &[(0, wanted)][..]));
    let mut after = contents(source);
    // Taking the lock is counted, and that is all.
    let locks = (arena.address() + Layout::CURRENT.header_heap_locks) as usize;
    assert_ne!(after[locks..locks + 8], bytes[locks..locks + 8]);
    after[locks..locks + 8].copy_from_slice(&bytes[locks..locks + 8]);
    assert!(
        after == bytes,
        "bulk free of {pointer:p} ({wanted:?}) wrote to memory"
    );
    assert_eq!(prove(arena), proof);
}

#[test]
fn unaligned_pointers() {
    let memory = memory();
    let arena = arena(&memory, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    let small = Object::alloc(&worker, 16, 1, Extent::Whole).unwrap();
    let large = Object::alloc(&worker, 100_000, 2, Extent::Whole).unwrap();
    for object in [&small, &large] {
        for offset in [1, 7, 8, 15] {
            let pointer = object.pointer().wrapping_add(offset);
            refuses(&arena, &memory, &worker, pointer, FreeError::Unaligned);
        }
    }
    // Even where the chunk's own metadata is.
    let header = memory.memory().pointer::<u8>(arena.address() + 4);
    refuses(&arena, &memory, &worker, header, FreeError::Unaligned);
    small.free(&worker);
    large.free(&worker);
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn interior_pointers() {
    let memory = memory();
    let arena = arena(&memory, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    for size in [32, 48, 2048, 4096, MAX_BLOCK_BYTES as usize] {
        let object = Object::alloc(&worker, size, 3, Extent::Whole).unwrap();
        let block = block_bytes(size);
        // The middle is where the block's own buddies would start; beyond the size is inside too.
        for offset in [16, (block / 4) & !15, block / 2, block - 16] {
            if offset > 0 {
                let pointer = object.pointer().wrapping_add(offset);
                refuses(&arena, &memory, &worker, pointer, FreeError::Interior);
            }
        }
        object.free(&worker);
    }
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn foreign_pointers() {
    let memory = memory();
    let elsewhere = self::memory();
    let (arena, stranger) = (
        arena(&memory, Config::DEFAULT),
        arena(&elsewhere, Config::DEFAULT),
    );
    let neighbour = warena_tests::arena(&memory, Config::DEFAULT);
    let (worker, by_stranger, by_neighbour) = (
        arena.attach().unwrap(),
        stranger.attach().unwrap(),
        neighbour.attach().unwrap(),
    );
    let own = Object::alloc(&worker, 64, 1, Extent::Whole).unwrap();
    let theirs = Object::alloc(&by_stranger, 64, 2, Extent::Whole).unwrap();
    let next_door = Object::alloc(&by_neighbour, 64, 3, Extent::Whole).unwrap();
    let mut on_stack = [0_u64; 2];
    let on_heap = Box::new(0_u64);
    let base = memory.memory().pointer::<u8>(0);
    let foreign = [
        base,
        base.wrapping_sub(16),
        base.wrapping_add(CHUNK_BYTES as usize - 16),
        base.wrapping_add(MEMORY as usize - 16),
        base.wrapping_add(MEMORY as usize),
        base.wrapping_add((1 << 32) - 16),
        base.wrapping_add(1 << 32),
        // What is left of an own pointer when the upper half of its bits are other ones.
        own.pointer().wrapping_add(1 << 32),
        own.pointer().wrapping_sub(1 << 32),
        without_provenance_mut(8),
        without_provenance_mut(16),
        without_provenance_mut(usize::MAX),
        without_provenance_mut(usize::MAX & !15),
        on_stack.as_mut_ptr().cast(),
        std::ptr::from_ref(&*on_heap).cast_mut().cast(),
        theirs.pointer(),
        next_door.pointer(),
        memory.memory().pointer(neighbour.address()),
    ];
    for pointer in foreign {
        refuses(&arena, &memory, &worker, pointer, FreeError::Foreign);
    }
    refuses(
        &neighbour,
        &memory,
        &by_neighbour,
        own.pointer(),
        FreeError::Foreign,
    );
    refuses(
        &stranger,
        &elsewhere,
        &by_stranger,
        own.pointer(),
        FreeError::Foreign,
    );
    own.free(&worker);
    theirs.free(&by_stranger);
    next_door.free(&by_neighbour);
    drop((worker, by_stranger, by_neighbour));
    prove_idle(&arena);
    prove_idle(&neighbour);
    prove_idle(&stranger);
}

#[test]
fn pointers_into_chunks_that_went_back() {
    let memory = memory();
    let arena = arena(&memory, Config::NO_CACHES);
    let worker = arena.attach().unwrap();
    let objects: Vec<_> = (0..6)
        .map(|index| {
            let size = MAX_BLOCK_BYTES as usize;
            Object::alloc(&worker, size, index, Extent::Ends).unwrap()
        })
        .collect();
    let pointers: Vec<_> = objects.iter().map(Object::pointer).collect();
    objects.into_iter().for_each(|object| object.free(&worker));
    let owned = |pointer: &*mut u8| {
        let address = memory.memory().address(*pointer).unwrap();
        free_blocks(memory.memory(), &arena).any(|(block, _)| block == address)
    };
    let (kept, gone): (Vec<_>, Vec<_>) = pointers.into_iter().partition(owned);
    assert!(gone.len() >= 4, "empty chunks were not given back");
    for pointer in kept {
        refuses(&arena, &memory, &worker, pointer, FreeError::NotAllocated);
    }
    for pointer in gone {
        refuses(&arena, &memory, &worker, pointer, FreeError::NotAllocated);
    }
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn metadata() {
    let memory = memory();
    let arena = arena(&memory, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    let object = Object::alloc(&worker, 64, 1, Extent::Whole).unwrap();
    let slot = worker.into_address();
    let source = &memory;
    // SAFETY: the slot is still attached, and the first handle on it is gone.
    let worker = unsafe { Worker::at(&source, slot) };
    let chunk = arena.address() & !(CHUNK_BYTES - 1);
    let directory = {
        let at = memory
            .memory()
            .pointer::<u32>(arena.address() + Layout::CURRENT.header_slot_directory);
        // SAFETY: the header lives, and nobody writes it now.
        unsafe { at.read() }
    };
    for address in [
        chunk,
        chunk + 16,
        chunk + 0x8000,
        arena.address() - 16,
        arena.address(),
        arena.address() + 16,
        arena.address() + 0x4000,
        directory,
        directory + 16,
        slot,
        slot + 64,
    ] {
        let pointer = memory.memory().pointer(address);
        refuses(&arena, &memory, &worker, pointer, FreeError::Metadata);
    }
    object.free(&worker);
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn never_allocated() {
    let memory = memory();
    for config in [Config::DEFAULT, Config::NO_CACHES] {
        let arena = arena(&memory, config);
        let worker = arena.attach().unwrap();
        let blocks: Vec<_> = free_blocks(memory.memory(), &arena).collect();
        assert!(blocks.len() >= 4);
        for (address, order) in blocks {
            let bytes = 16 << order;
            // The start, inside, and the upper half of a free block.
            for offset in [0, 16 % bytes, (bytes / 2) & !15, bytes - 16] {
                let pointer = memory.memory().pointer(address + offset);
                refuses(&arena, &memory, &worker, pointer, FreeError::NotAllocated);
            }
        }
        drop(worker);
        prove_idle(&arena);
    }
}

#[test]
fn freed_already_and_back_in_the_heap() {
    let memory = memory();
    let arena = arena(&memory, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    let neighbours: Vec<_> = (0..4)
        .map(|index| Object::alloc(&worker, 5000, index, Extent::Whole).unwrap())
        .collect();
    let pointers: Vec<_> = neighbours.iter().map(Object::pointer).collect();
    for (index, object) in neighbours.into_iter().enumerate() {
        object.free(&worker);
        // Free while its buddies live, and interior of a merged block later on.
        for &pointer in &pointers[..=index] {
            refuses(&arena, &memory, &worker, pointer, FreeError::NotAllocated);
        }
    }
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn freed_already_and_swallowed_by_a_larger_object() {
    let memory = memory();
    let arena = arena(&memory, Config::NO_CACHES);
    let worker = arena.attach().unwrap();
    let small: Vec<_> = (0..64)
        .map(|index| Object::alloc(&worker, 1024, index, Extent::Whole).unwrap())
        .collect();
    let pointers: Vec<_> = small.iter().map(Object::pointer).collect();
    small.into_iter().for_each(|object| object.free(&worker));
    let large: Vec<_> = (0..2)
        .map(|index| Object::alloc(&worker, 32 << 10, index, Extent::Whole).unwrap())
        .collect();
    let mut inside = 0;
    for pointer in pointers {
        let holder = large.iter().find(|object| {
            let start = object.pointer() as usize;
            (start..start + object.size()).contains(&(pointer as usize))
        });
        match holder {
            // The new object's own address cannot be told from the old one's: it is freed next.
            Some(object) if object.pointer() == pointer => {}
            Some(_) => {
                inside += 1;
                refuses(&arena, &memory, &worker, pointer, FreeError::Interior);
            }
            None => refuses(&arena, &memory, &worker, pointer, FreeError::NotAllocated),
        }
    }
    assert!(inside > 0);
    large.into_iter().for_each(|object| object.free(&worker));
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn freed_already_and_in_a_cache() {
    let memory = memory();
    let arena = arena(&memory, Config::DEFAULT);
    let (worker, other) = (arena.attach().unwrap(), arena.attach().unwrap());
    for size in [16, 64, 2048] {
        let object = Object::alloc(&worker, size, 1, Extent::Whole).unwrap();
        let pointer = object.pointer();
        object.free(&worker);
        refuses(&arena, &memory, &worker, pointer, FreeError::Cached);
        refuses(&arena, &memory, &other, pointer, FreeError::Cached);
        if size > 16 {
            let inside = pointer.wrapping_add(16);
            refuses(&arena, &memory, &other, inside, FreeError::Cached);
        }
        // Objects that a refill brought were never anybody's, and are cached all the same.
        let again = Object::alloc(&worker, size, 2, Extent::Whole).unwrap();
        assert_eq!(again.pointer(), pointer);
        again.free(&worker);
    }
    drop((worker, other));
    prove_idle(&arena);
}

#[test]
fn freed_already_and_in_a_full_cache() {
    // The check comes before the spill: a refused free must not move a batch either.
    let memory = memory();
    for (_, config) in CONFIGS {
        if config.cached_orders == 0 {
            continue;
        }
        let arena = arena(&memory, config);
        let worker = arena.attach().unwrap();
        let objects: Vec<_> = (0..config.capacity)
            .map(|index| Object::alloc(&worker, 64, u64::from(index), Extent::Whole).unwrap())
            .collect();
        worker.flush().unwrap();
        let pointers: Vec<_> = objects.iter().map(Object::pointer).collect();
        objects.into_iter().for_each(|object| object.free(&worker));
        for pointer in pointers {
            refuses(&arena, &memory, &worker, pointer, FreeError::Cached);
        }
        drop(worker);
        prove_idle(&arena);
        // SAFETY: nothing is attached or allocated.
        unsafe { arena.destroy() }.unwrap();
    }
}

#[test]
fn freed_already_and_in_transfer() {
    let memory = memory();
    let arena = arena(&memory, NARROW);
    let (worker, other) = (arena.attach().unwrap(), arena.attach().unwrap());
    let (capacity, batch) = (
        Config::DEFAULT.capacity as usize,
        Config::DEFAULT.batch as usize,
    );
    let objects: Vec<_> = (0..capacity + 1)
        .map(|index| Object::alloc(&worker, 64, index as u64, Extent::Whole).unwrap())
        .collect();
    worker.flush().unwrap();
    let pointers: Vec<_> = objects.iter().map(Object::pointer).collect();
    objects.into_iter().for_each(|object| object.free(&worker));
    for (index, &pointer) in pointers.iter().enumerate() {
        let wanted = if (capacity - batch..capacity).contains(&index) {
            FreeError::InTransfer
        } else {
            FreeError::Cached
        };
        refuses(&arena, &memory, &worker, pointer, wanted);
        refuses(&arena, &memory, &other, pointer, wanted);
        refuses(&arena, &memory, &other, pointer.wrapping_add(48), wanted);
    }
    drop((worker, other));
    prove_idle(&arena);
}

#[test]
fn null_is_nobodys_and_freeing_it_does_nothing() {
    let memory = memory();
    let arena = arena(&memory, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    let before = arena.stats();
    assert_eq!(worker.free(std::ptr::null_mut()), Ok(()));
    assert_eq!(arena.stats(), before);
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn random_bad_frees_between_good_ones_are_all_refused() {
    let memory = memory();
    for (seed, (_, config)) in (0..).zip(CONFIGS) {
        let arena = arena(&memory, config);
        let worker = arena.attach().unwrap();
        let mut rng = Rng::new(seed);
        let mut objects = Vec::new();
        for step in 0..soak(20_000) {
            match rng.below(4) {
                0 | 1 if objects.len() < 500 => {
                    let size = rng.size(10);
                    if let Ok(object) = Object::alloc(&worker, size, step as u64, Extent::Ends) {
                        objects.push(object);
                    }
                }
                0..=2 if !objects.is_empty() => {
                    let object = objects.swap_remove(rng.below(objects.len()));
                    let pointer = object.pointer();
                    object.free(&worker);
                    assert!(worker.free(pointer).is_err(), "freed twice: {pointer:p}");
                }
                _ => {
                    // Any address of the memory that is no live object's start.
                    let address = rng.below(MEMORY as usize) as u32;
                    let pointer = memory.memory().pointer::<u8>(address);
                    if objects.iter().all(|object| object.pointer() != pointer) {
                        assert!(worker.free(pointer).is_err(), "freed {pointer:p}");
                    }
                }
            }
        }
        objects.into_iter().for_each(|object| object.free(&worker));
        drop(worker);
        prove_idle(&arena);
        // SAFETY: nothing is attached or allocated.
        unsafe { arena.destroy() }.unwrap();
    }
}
