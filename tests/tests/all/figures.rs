//! The figures of `stats()`: exact when nothing runs, and while four threads run a sample that
//! adds up, in which nothing is negative, more than is owned, or off by more than what is on its
//! way at that moment.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use warena::{
    Arena, BlockState, CHUNK_BYTES, ChunkSource, Config, MAX_BLOCK_BYTES, MappedMemory, Rounding,
    SeenBlock, Stats,
};
use warena_tests::{
    CONFIGS, Extent, Object, Rng, arena, block_bytes, block_bytes_of, free_blocks, prove,
    prove_idle, soak,
};

const THREADS: usize = 4;
const SIZE: usize = 64;
/// Objects that each thread holds at most.
const HELD: usize = 50;

#[test]
fn figures_are_exact_at_rest_after_every_call() {
    let memory = MappedMemory::new(64 << 20).unwrap();
    for (_, config) in CONFIGS {
        let arena = arena(&memory, config);
        let worker = arena.attach().unwrap();
        let mut rng = Rng::new(9);
        let (mut objects, mut live) = (Vec::new(), 0);
        let (mut allocations, mut frees) = (0, 0);
        for step in 0..soak(3000) {
            if objects.is_empty() || rng.below(100) < 52 {
                let object =
                    Object::alloc(&worker, rng.size(12), step as u64, Extent::Ends).unwrap();
                live += block_bytes_of(&config, object.size());
                objects.push(object);
                allocations += 1;
            } else {
                let object: Object = objects.swap_remove(rng.below(objects.len()));
                live -= block_bytes_of(&config, object.size());
                object.free(&worker);
                frees += 1;
            }
            let stats = arena.stats();
            assert_eq!(stats.allocated_bytes, live as u64);
            assert_eq!(sum(&stats), stats.owned_bytes);
            assert_eq!(
                stats.cache_allocations + stats.direct_allocations,
                allocations
            );
            assert_eq!(stats.cache_frees + stats.direct_frees, frees);
            let refills = stats.refills_from_heap + stats.refills_from_transfer;
            assert_eq!(stats.cache_hits + refills, stats.cache_allocations);
            if step % 100 == 0 {
                prove(&arena);
            }
        }
        objects.into_iter().for_each(|object| object.free(&worker));
        drop(worker);
        prove_idle(&arena);
        // SAFETY: nothing is attached or allocated.
        unsafe { arena.destroy() }.unwrap();
    }
}

fn sum(stats: &Stats) -> u64 {
    stats.free_bytes
        + stats.allocated_bytes
        + stats.cached_bytes
        + stats.in_transfer_bytes
        + stats.deferred_bytes
        + stats.metadata_bytes
}

/// Counters that only ever rise, whoever attaches and detaches.
fn rising(stats: &Stats) -> [u64; 11] {
    [
        stats.cache_allocations,
        stats.refills_from_transfer,
        stats.refills_from_heap,
        stats.spills_to_transfer,
        stats.spills_to_heap,
        stats.direct_allocations,
        stats.direct_frees,
        stats.splits,
        stats.merges,
        stats.grows,
        stats.heap_locks,
    ]
}

/// Lets the threads that wait for samples go when the watcher goes, even by a panic.
struct Enough<'a>(&'a AtomicUsize);

impl Drop for Enough<'_> {
    fn drop(&mut self) {
        self.0.store(usize::MAX, Ordering::Relaxed);
    }
}

/// Samples until nobody runs any more, and counts the samples.
fn watch(
    arena: &Arena<&MappedMemory>,
    config: Config,
    running: &AtomicUsize,
    samples: &AtomicUsize,
) {
    // What the threads hold, an object or a batch on its way with each, and what the caches can
    // change by between two words of one sample.
    let _enough = Enough(samples);
    // Stacks of 64 bytes, and with them batches, come to be so many times what they are at first.
    const WIDER: usize = 8;
    let on_its_way = THREADS * WIDER * config.batch.max(1) as usize;
    let caches = if config.cached_orders == 0 {
        0
    } else {
        WIDER * (THREADS * config.capacity as usize + config.transfer_capacity as usize)
    };
    let bound = ((THREADS * HELD + on_its_way + caches) * block_bytes(SIZE)) as u64;
    let mut before = rising(&arena.stats());
    while running.load(Ordering::Acquire) > 0 {
        let stats = arena.stats();
        samples.fetch_add(1, Ordering::Relaxed);
        assert_eq!(sum(&stats), stats.owned_bytes, "{stats:?}");
        let allocated = stats.allocated_bytes;
        assert!(allocated <= bound, "{allocated} of {bound}: {stats:?}");
        let now = rising(&stats);
        let falls = before.iter().zip(&now).any(|(before, now)| now < before);
        assert!(!falls, "a counter fell: {before:?} {now:?}");
        before = now;
    }
}

#[test]
fn figures_are_consistent_while_four_threads_run() {
    let memory = MappedMemory::new(64 << 20).unwrap();
    for (_, config) in CONFIGS {
        let arena = arena(&memory, config);
        let running = AtomicUsize::new(THREADS);
        let samples = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for number in 0..THREADS as u64 {
                let (arena, running, samples) = (&arena, &running, &samples);
                scope.spawn(move || {
                    let worker = arena.attach().unwrap();
                    let mut rng = Rng::new(number);
                    let mut objects = Vec::new();
                    for step in 0.. {
                        // On a busy machine the watcher may come late.
                        if step >= soak(2000) && samples.load(Ordering::Relaxed) > 100 {
                            break;
                        }
                        while objects.len() < HELD {
                            let object = Object::alloc(&worker, SIZE, step as u64, Extent::Ends);
                            objects.push(object.unwrap());
                        }
                        let left = rng.below(HELD);
                        objects
                            .drain(left..)
                            .for_each(|object| object.free(&worker));
                    }
                    objects.into_iter().for_each(|object| object.free(&worker));
                    drop(worker);
                    running.fetch_sub(1, Ordering::Release);
                });
            }
            watch(&arena, config, &running, &samples);
        });
        prove_idle(&arena);
        // SAFETY: nothing is attached or allocated.
        unsafe { arena.destroy() }.unwrap();
    }
}

#[test]
fn a_large_block_is_not_seen_as_allocated_while_it_is_cut_and_merged() {
    let memory = MappedMemory::new(2 << 20).unwrap();
    let arena = arena(&memory, Config::NO_CACHES);
    let worker = arena.attach().unwrap();
    // Everything but the largest block, so that one small object cuts that into sixteen pieces,
    // and its free merges them all again.
    let mut rest = Vec::new();
    for block in (4..19).rev().map(|log| 1 << log) {
        while free_blocks(memory.memory(), &arena).any(|(_, order)| 16 << order == block) {
            rest.push(Object::alloc(&worker, block, 1, Extent::Ends).unwrap());
        }
    }
    let live: u64 = rest.iter().map(|object| object.size() as u64).sum();
    assert_eq!(arena.stats().free_bytes, u64::from(MAX_BLOCK_BYTES));
    let running = AtomicBool::new(true);
    std::thread::scope(|scope| {
        let (arena, running) = (&arena, &running);
        scope.spawn(move || {
            for _ in 0..soak(50_000) {
                let object = worker.alloc(16).unwrap();
                worker.free(object.as_ptr()).unwrap();
            }
            rest.into_iter().for_each(|object| object.free(&worker));
            drop(worker);
            running.store(false, Ordering::Release);
        });
        while running.load(Ordering::Acquire) {
            let stats = arena.stats();
            let most = live + 16;
            assert!(stats.allocated_bytes <= most, "{live} live, {stats:?}");
        }
    });
    prove_idle(&arena);
}

#[test]
fn rates_fragmentation_and_peaks_follow_from_what_was_done() {
    let memory = MappedMemory::new(64 << 20).unwrap();
    let arena = arena(&memory, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    let idle = arena.stats();
    assert_eq!(idle.cache_hit_rate(), None);
    assert_eq!(idle.refill_hit_rate(), None);
    // A refill of eight, and seven hits.
    let objects: Vec<_> = (0..8).map(|_| worker.alloc(128).unwrap()).collect();
    let stats = arena.stats();
    assert_eq!(stats.cache_hit_rate(), Some(7.0 / 8.0));
    assert_eq!(stats.refill_hit_rate(), Some(0.0));
    assert_eq!(stats.spill_hit_rate(), None);
    // Sizes of 65 to 128 bytes, evenly: 31.5 bytes lost of each block.
    let lost = Some(Rounding::Estimated((8 * 63 / 2) as f64 / 1024.0));
    assert_eq!(stats.internal_fragmentation(), lost);
    assert_eq!(stats.peak_owned_bytes, 1 << 20);
    assert_eq!(stats.peak_out_bytes, 1024);
    assert_eq!(stats.largest_free_bytes, 512 << 10);
    let scattered = 1.0 - (512 << 10) as f64 / stats.free_bytes as f64;
    assert_eq!(stats.external_fragmentation(), Some(scattered));
    let large = worker.alloc(3 << 20).unwrap();
    worker.free(large.as_ptr()).unwrap();
    for object in objects {
        worker.free(object.as_ptr()).unwrap();
    }
    drop(worker);
    let stats = arena.stats();
    assert_eq!(
        (stats.owned_bytes, stats.peak_owned_bytes),
        (1 << 20, 4 << 20)
    );
    assert_eq!(stats.peak_out_bytes, (3 << 20) + 1024);
    prove_idle(&arena);
}

/// Bytes of the blocks that a snapshot sees, those in the wanted states.
fn seen<S: ChunkSource>(arena: &Arena<S>, wanted: &[BlockState]) -> u64 {
    arena
        .snapshot()
        .filter(|block| wanted.contains(&block.state))
        .map(|block| block.bytes)
        .sum()
}

#[test]
fn a_snapshot_sees_every_block_as_the_figures_do() {
    let memory = MappedMemory::new(64 << 20).unwrap();
    for (_, config) in CONFIGS {
        let arena = arena(&memory, config);
        let worker = arena.attach().unwrap();
        let mut rng = Rng::new(7);
        let mut objects: Vec<_> = (0..500)
            .map(|step| Object::alloc(&worker, rng.size(14), step, Extent::Ends).unwrap())
            .collect();
        objects.push(Object::alloc(&worker, 3 << 20, 1, Extent::Ends).unwrap());
        objects
            .drain(100..300)
            .for_each(|object| object.free(&worker));
        let stats = arena.stats();
        let parts: [(&[BlockState], u64); 5] = [
            (&[BlockState::Free, BlockState::Zeroed], stats.free_bytes),
            (&[BlockState::Allocated], stats.allocated_bytes),
            (&[BlockState::Cached], stats.cached_bytes),
            (&[BlockState::InTransfer], stats.in_transfer_bytes),
            (&[BlockState::Metadata], stats.metadata_bytes),
        ];
        for (states, bytes) in parts {
            assert_eq!(seen(&arena, states), bytes, "{states:?}");
        }
        let aligned = |block: SeenBlock| {
            // By the whole block that it is, or that it is some eighths of.
            let whole = block.bytes.next_power_of_two();
            u64::from(block.address).is_multiple_of(whole.min(CHUNK_BYTES.into()))
        };
        assert!(arena.snapshot().all(aligned));
        objects.into_iter().for_each(|object| object.free(&worker));
        drop(worker);
        prove_idle(&arena);
        // SAFETY: nothing is attached or allocated.
        unsafe { arena.destroy() }.unwrap();
    }
}

#[test]
fn what_even_sizes_lose_is_estimated_well() {
    let memory = MappedMemory::new(64 << 20).unwrap();
    for (from, to) in [(1024, 2048), (4096, 8192), (65_536, 131_072)] {
        let arena = arena(&memory, Config::DEFAULT);
        let worker = arena.attach().unwrap();
        let sizes = (from + 1..=to).step_by(from / 64);
        let objects: Vec<_> = sizes
            .clone()
            .map(|size| worker.alloc(size).unwrap())
            .collect();
        let stats = arena.stats();
        let lost = 1.0 - sizes.sum::<usize>() as f64 / stats.allocated_bytes as f64;
        let Some(Rounding::Estimated(estimate)) = stats.internal_fragmentation() else {
            panic!("not estimated");
        };
        assert!(
            (estimate - lost).abs() < 0.02,
            "{from}: {estimate} is not {lost}"
        );
        for object in objects {
            worker.free(object.as_ptr()).unwrap();
        }
        drop(worker);
        prove_idle(&arena);
    }
}
