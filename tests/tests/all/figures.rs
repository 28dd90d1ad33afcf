//! The figures of `stats()`: exact when nothing runs, and while four threads run a sample that
//! adds up, in which nothing is negative, more than is owned, or off by more than what is on its
//! way at that moment.

use std::sync::atomic::{AtomicBool, Ordering};
use warena::{Arena, ChunkSource, Config, MAX_BLOCK_BYTES, MappedMemory, Stats};
use warena_tests::{
    CONFIGS, Extent, Object, Rng, arena, block_bytes, free_blocks, prove, prove_idle, soak,
};

const THREADS: usize = 4;
const SIZE: usize = 64;
/// Samples that the watcher takes while they run.
const SAMPLES: usize = 2000;
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
                live += block_bytes(object.size());
                objects.push(object);
                allocations += 1;
            } else {
                let object: Object = objects.swap_remove(rng.below(objects.len()));
                live -= block_bytes(object.size());
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

/// Takes samples while all threads run.
fn watch(arena: &Arena<&MappedMemory>, config: Config) {
    while arena.stats().workers < THREADS as u32 {
        std::thread::yield_now();
    }
    // What the threads hold, an object or a batch on its way with each, and what the caches can
    // change by between two words of one sample.
    let on_its_way = THREADS * config.batch.max(1) as usize;
    let caches = if config.cached_orders == 0 {
        0
    } else {
        THREADS * config.capacity as usize + config.transfer_capacity as usize
    };
    let bound = ((THREADS * HELD + on_its_way + caches) * block_bytes(SIZE)) as u64;
    let mut before = rising(&arena.stats());
    for _ in 0..soak(SAMPLES) {
        let stats = arena.stats();
        assert_eq!(sum(&stats), stats.owned_bytes, "{stats:?}");
        let allocated = stats.allocated_bytes;
        assert!(allocated <= bound, "{allocated} of {bound}: {stats:?}");
        let now = rising(&stats);
        let falls = before.iter().zip(&now).any(|(before, now)| now < before);
        assert!(!falls, "a counter fell: {before:?} {now:?}");
        before = now;
    }
}

/// Says that the threads may stop, when it goes, even by a failed assertion of the watcher.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn figures_are_consistent_while_four_threads_run() {
    let memory = MappedMemory::new(64 << 20).unwrap();
    for (_, config) in CONFIGS {
        let arena = arena(&memory, config);
        let stopped = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _stop = Stop(&stopped);
            for number in 0..THREADS as u64 {
                let (arena, stopped) = (&arena, &stopped);
                scope.spawn(move || {
                    let worker = arena.attach().unwrap();
                    let mut rng = Rng::new(number);
                    let mut objects = Vec::new();
                    while !stopped.load(Ordering::Acquire) {
                        while objects.len() < HELD {
                            let object = Object::alloc(&worker, SIZE, number, Extent::Ends);
                            objects.push(object.unwrap());
                        }
                        let left = rng.below(HELD);
                        objects
                            .drain(left..)
                            .for_each(|object| object.free(&worker));
                    }
                    objects.into_iter().for_each(|object| object.free(&worker));
                });
            }
            watch(&arena, config);
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
