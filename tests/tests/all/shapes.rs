//! Allocations of a certain shape: zeroed, without touching what is known to be zero, and aligned,
//! without taking more than the size needs.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use warena::{
    AllocError, CHUNK_BYTES, ChunkRun, ChunkSource, Config, MAX_BLOCK_BYTES, MappedMemory, Memory,
};
use warena_tests::{
    CONFIGS, CountedSource, Extent, Object, Rng, arena, block_bytes_of, prove, prove_idle, soak,
};

const CHUNK: usize = CHUNK_BYTES as usize;
/// Bytes of a chunk's own block map, which an honest source hands over zeroed.
const MAP_BYTES: usize = CHUNK / 16;
/// What the lying source fills its chunks with.
const POISON: u8 = 0xa5;

/// A source that calls its chunks zeroed while all that a program can get of them is poison: a
/// byte that is still poison afterwards was neither written nor cleared.
struct PoisonedSource {
    mapped: MappedMemory,
    /// Poisons chunks from here on, so that the arena's own are honest.
    honest: AtomicU32,
}

// SAFETY: chunks are those of the mapped memory. They are not zero as claimed, which the
// allocator may only pass on to the tests that know.
unsafe impl ChunkSource for PoisonedSource {
    fn memory(&self) -> Memory {
        self.mapped.memory()
    }

    fn acquire(&self, count: u32, claimant: u32) -> Option<ChunkRun> {
        let run = self.mapped.acquire(count, claimant)?;
        if self.honest.load(SeqCst) == 0 {
            let map = if count == 1 { MAP_BYTES } else { 0 };
            let start = self.memory().pointer::<u8>(run.address).wrapping_add(map);
            // SAFETY: within the chunks that were just acquired.
            unsafe { start.write_bytes(POISON, count as usize * CHUNK - map) };
        }
        Some(run)
    }

    unsafe fn release(&self, chunk: u32, count: u32) {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.mapped.release(chunk, count) }
    }

    unsafe fn reclaim(&self, claimant: u32, uses: impl Fn(u32) -> bool) -> u32 {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.mapped.reclaim(claimant, uses) }
    }
}

fn bytes<'a>(pointer: *const u8, size: usize) -> &'a [u8] {
    // SAFETY: only called on live objects of that size, which nobody writes meanwhile.
    unsafe { std::slice::from_raw_parts(pointer, size) }
}

fn is_zero(pointer: *const u8, size: usize) -> bool {
    bytes(pointer, size).iter().all(|&byte| byte == 0)
}

#[test]
fn zeroed_memory_that_nobody_had_is_not_touched() {
    let source = PoisonedSource {
        mapped: MappedMemory::new(32 << 20).unwrap(),
        honest: AtomicU32::new(1),
    };
    let arena = arena(&source, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    // Use the first chunk up, so that all that follows comes out of fresh ones.
    let mut first = Vec::new();
    while let Ok(pointer) = worker.alloc_nogrow(4096) {
        first.push(pointer.as_ptr());
    }
    source.honest.store(0, SeqCst);
    let mut objects = Vec::new();
    for size in [4096, 10_000, 100_000, MAX_BLOCK_BYTES as usize, 3 * CHUNK] {
        let pointer = worker.alloc_zeroed(size).unwrap().as_ptr();
        // The free list's links stood in the first eight bytes; those are zeroed again.
        let (links, rest) = bytes(pointer, size).split_at(8);
        assert!(
            links
                .iter()
                .all(|&byte| byte == if size > CHUNK { POISON } else { 0 })
        );
        assert!(
            rest.iter().all(|&byte| byte == POISON),
            "{size:#x} was touched"
        );
        objects.push(pointer);
    }
    // Once somebody had it, it is cleared, whoever has it next and whatever it merged with.
    for &pointer in &objects {
        worker.free(pointer).unwrap();
    }
    worker.flush().unwrap();
    let mut again = Vec::new();
    for size in [4096, 10_000, 100_000, MAX_BLOCK_BYTES as usize, 3 * CHUNK] {
        let pointer = worker.alloc_zeroed(size).unwrap().as_ptr();
        if objects.contains(&pointer) {
            assert!(is_zero(pointer, size), "{size:#x} is dirty");
        }
        again.push(pointer);
    }
    for pointer in again.into_iter().chain(first) {
        worker.free(pointer).unwrap();
    }
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn zeroed_memory_is_zero_whatever_it_was_before() {
    for (name, config) in CONFIGS {
        let source = CountedSource::new(24 << 20);
        let arena = arena(&source, config);
        let worker = arena.attach().unwrap();
        let mut rng = Rng::new(11);
        let mut objects: Vec<Object> = Vec::new();
        for step in 0..soak(6_000) {
            let size = if rng.below(64) == 0 {
                CHUNK + rng.below(2 * CHUNK)
            } else {
                rng.size(15)
            };
            match rng.below(5) {
                0 | 1 => {
                    let pointer = match worker.alloc_zeroed(size) {
                        Ok(pointer) => pointer,
                        Err(error) => {
                            assert_eq!(error, AllocError::OutOfMemory);
                            objects.drain(..).for_each(|object| object.free(&worker));
                            continue;
                        }
                    };
                    assert!(
                        is_zero(pointer.as_ptr(), size),
                        "{name}: {size:#x} at step {step}"
                    );
                    // SAFETY: just allocated for `size` bytes.
                    let object =
                        unsafe { Object::adopt(pointer, size, step as u64, Extent::Whole) };
                    objects.push(object);
                }
                2 => objects.extend(Object::alloc(&worker, size, step as u64, Extent::Whole)),
                _ if !objects.is_empty() => {
                    let object = objects.swap_remove(rng.below(objects.len()));
                    // Not cleared, as `Object::free` would do: the allocator must.
                    object.check();
                    worker.free(object.pointer()).unwrap();
                }
                _ => {}
            }
        }
        objects.into_iter().for_each(|object| object.free(&worker));
        drop(worker);
        prove_idle(&arena);
    }
}

#[test]
fn zeroed_memory_is_zero_after_chunks_went_back_and_came_again() {
    let source = CountedSource::new(8 << 20);
    for round in 0..4 {
        // Chunks that one arena gave back are another's, with whatever is in them.
        let arena = arena(&source, Config::DEFAULT);
        let worker = arena.attach().unwrap();
        let blocks: Vec<_> = (0..4)
            .map(|_| worker.alloc_zeroed(MAX_BLOCK_BYTES as usize).unwrap())
            .collect();
        for &block in &blocks {
            assert!(
                is_zero(block.as_ptr(), MAX_BLOCK_BYTES as usize),
                "round {round}"
            );
            // SAFETY: just allocated for that many bytes.
            unsafe { block.write_bytes(0xff, MAX_BLOCK_BYTES as usize) };
        }
        for block in blocks {
            worker.free(block.as_ptr()).unwrap();
        }
        let run = worker.alloc_zeroed(2 * CHUNK + 1).unwrap();
        assert!(is_zero(run.as_ptr(), 2 * CHUNK + 1), "round {round}");
        // SAFETY: just allocated for that many bytes.
        unsafe { run.write_bytes(0xff, 2 * CHUNK + 1) };
        worker.free(run.as_ptr()).unwrap();
        drop(worker);
        prove_idle(&arena);
        // SAFETY: nothing is attached or allocated.
        unsafe { arena.destroy() }.unwrap();
        assert_eq!(source.held(), 0);
    }
}

#[test]
fn bug_7_every_alignment_holds_and_takes_the_sizes_block_only() {
    let source = CountedSource::new(64 << 20);
    for (name, config) in CONFIGS {
        let arena = arena(&source, config);
        let worker = arena.attach().unwrap();
        // Warm the caches with the smallest objects, at addresses of every alignment.
        let warm: Vec<_> = (0..100)
            .map(|index| worker.alloc(8 + index % 9).unwrap())
            .collect();
        warm.iter()
            .for_each(|object| worker.free(object.as_ptr()).unwrap());
        for exponent in 0..=20 {
            let align = 1_usize << exponent;
            for size in [1, align - 1, align, align + 1] {
                if size == 0 {
                    continue;
                }
                let before = arena.stats().allocated_bytes;
                let pointer = worker.alloc_aligned(size, align).unwrap();
                assert_eq!(
                    pointer.as_ptr() as usize % align,
                    0,
                    "{name}: {size:#x} {align:#x}"
                );
                let taken = (arena.stats().allocated_bytes - before) as usize;
                let wanted = if align == CHUNK {
                    size.next_multiple_of(CHUNK)
                } else {
                    block_bytes_of(&config, size)
                };
                assert_eq!(taken, wanted, "{name}: {size:#x} at {align:#x}");
                let usable = worker.usable_size(pointer.as_ptr()).unwrap();
                assert!(usable >= size && usable == taken);
                // SAFETY: just allocated for that many bytes.
                let object = unsafe { Object::adopt(pointer, size, 1, Extent::Ends) };
                object.free(&worker);
            }
        }
        drop(worker);
        prove_idle(&arena);
    }
}

#[test]
fn bug_7_alignments_that_cannot_be_are_refused() {
    let source = CountedSource::new(8 << 20);
    let arena = arena(&source, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    let before = arena.stats();
    for align in [0, 3, 12, 24, (1 << 20) + 1, 1 << 21, 1 << 32, usize::MAX] {
        let refused = worker.alloc_aligned(16, align);
        assert_eq!(refused, Err(AllocError::BadAlignment), "{align:#x}");
    }
    assert_eq!(worker.alloc_aligned(0, 64), Err(AllocError::ZeroSize));
    assert_eq!(
        worker.alloc_aligned(usize::MAX, 64),
        Err(AllocError::TooLarge)
    );
    assert_eq!(arena.stats(), before);
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn aligned_objects_leave_the_rest_of_their_block_to_others() {
    let source = CountedSource::new(3 << 20);
    let arena = arena(&source, Config::NO_CACHES);
    let worker = arena.attach().unwrap();
    // Every 4 KiB boundary of what is free holds one unit; the units between are still there.
    let mut aligned = Vec::new();
    while let Ok(pointer) = worker.alloc_aligned(16, 4096) {
        aligned.push(pointer.as_ptr());
    }
    assert!(aligned.len() > 2 * 200, "{}", aligned.len());
    let mut small = Vec::new();
    while let Ok(pointer) = worker.alloc(16) {
        small.push(pointer.as_ptr());
    }
    assert_eq!(prove(&arena).free_bytes, 0);
    assert!(small.len() > 250 * aligned.len());
    for pointer in aligned.into_iter().chain(small) {
        worker.free(pointer).unwrap();
    }
    drop(worker);
    prove_idle(&arena);
}
