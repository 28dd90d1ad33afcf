//! Churn that broke other allocators: objects and workers that come and go for long, and what
//! must not pile up, be split again and again, or be handed out twice. Each test is named after
//! its row in the list of their failures.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};
use warena::{
    AllocError, Arena, AttachError, CHUNK_BYTES, ChunkSource, Config, FreeError, MappedMemory,
    Stats, Worker,
};
use warena_tests::{CONFIGS, Extent, Object, Rng, arena, block_bytes, prove, prove_idle, soak};

#[test]
fn bug_14_a_double_free_in_a_cache_is_seen_at_once() {
    let memory = MappedMemory::new(16 << 20).unwrap();
    let arena = arena(&memory, Config::DEFAULT);
    let (a, b) = (arena.attach().unwrap(), arena.attach().unwrap());
    for round in 0..soak(1000) {
        let object = Object::alloc(&a, 100, round as u64, Extent::Whole).unwrap();
        let pointer = object.pointer();
        object.free(&a);
        assert_eq!(a.free(pointer), Err(FreeError::Cached));
        assert_eq!(b.free(pointer), Err(FreeError::Cached));
        let two = [(); 2].map(|()| Object::alloc(&a, 100, 1, Extent::Whole).unwrap());
        assert_ne!(
            two[0].pointer(),
            two[1].pointer(),
            "two owners of one object"
        );
        two.into_iter().for_each(|object| object.free(&a));
        a.flush().unwrap();
        assert_eq!(a.free(pointer), Err(FreeError::NotAllocated));
        let one = Object::alloc(&a, 100, 1, Extent::Whole).unwrap();
        let other = Object::alloc(&b, 100, 2, Extent::Whole).unwrap();
        assert_ne!(one.pointer(), other.pointer());
        assert_eq!(arena.stats().allocated_bytes, 256);
        // Crosswise: each worker frees what the other allocated.
        one.free(&b);
        other.free(&a);
        assert_eq!(arena.stats().allocated_bytes, 0);
    }
    drop((a, b));
    prove_idle(&arena);
}

#[test]
fn bug_15_no_pointer_is_looked_into_before_it_is_known_to_be_ours() {
    let memory = MappedMemory::new(16 << 20).unwrap();
    let elsewhere = MappedMemory::new(16 << 20).unwrap();
    let (mine, other) = (
        arena(&memory, Config::DEFAULT),
        arena(&elsewhere, Config::DEFAULT),
    );
    let (worker, stranger) = (mine.attach().unwrap(), other.attach().unwrap());
    let object = Object::alloc(&worker, 64, 1, Extent::Whole).unwrap();
    let theirs = Object::alloc(&stranger, 64, 2, Extent::Whole).unwrap();
    static STATIC: u64 = 0;
    let base = memory.memory();
    let before = prove(&mine);
    for (pointer, wanted) in [
        (object.pointer().wrapping_add(8), FreeError::Unaligned),
        (object.pointer().wrapping_add(1), FreeError::Unaligned),
        (object.pointer().wrapping_add(16), FreeError::Interior),
        (base.pointer(8), FreeError::Foreign),
        (std::ptr::without_provenance_mut(8), FreeError::Foreign),
        (
            std::ptr::from_ref(&STATIC).cast_mut().cast(),
            FreeError::Foreign,
        ),
        (base.pointer(mine.address()), FreeError::Metadata),
        (base.pointer(2 * CHUNK_BYTES + 16), FreeError::Foreign),
        (base.pointer(16 << 20), FreeError::Foreign),
        (base.pointer(0xffff_fff0), FreeError::Foreign),
        (theirs.pointer(), FreeError::Foreign),
    ] {
        assert_eq!(worker.free(pointer), Err(wanted), "{pointer:p}");
    }
    assert_eq!(prove(&mine), before);
    object.free(&worker);
    theirs.free(&stranger);
    drop((worker, stranger));
    prove_idle(&mine);
    prove_idle(&other);
}

/// `producers` threads allocate and one only frees, through queues that hold `QUEUE` objects.
/// What is owned must not grow in the second half.
fn produce_and_consume(config: Config, producers: usize) {
    const SIZE: usize = 592;
    const QUEUE: usize = 1000;
    let objects = soak(120_000) / producers;
    let memory = MappedMemory::new(256 << 20).unwrap();
    let arena = arena(&memory, config);
    let mut most = [0; 2];
    std::thread::scope(|scope| {
        let queues: Vec<Receiver<Object>> = (0..producers)
            .map(|producer| {
                let (sender, receiver) = sync_channel(QUEUE);
                let arena = &arena;
                scope.spawn(move || {
                    let worker = arena.attach().unwrap();
                    for index in 0..objects {
                        let stamp = (producer << 32 | index) as u64;
                        let object = Object::alloc(&worker, SIZE, stamp, Extent::Ends).unwrap();
                        sender.send(object).unwrap();
                    }
                });
                receiver
            })
            .collect();
        let worker = arena.attach().unwrap();
        for index in 0..objects {
            for queue in &queues {
                queue.recv().unwrap().free(&worker);
            }
            let half = usize::from(index >= objects / 2);
            if index % 64 == 0 {
                most[half] = arena.stats().owned_bytes.max(most[half]);
            }
        }
    });
    // Live: what the queues hold, and one object in each hand. Cached: what the settings say.
    let live = producers * (QUEUE + 2) + 1;
    let caches = (producers + 1) * config.capacity as usize + config.transfer_capacity as usize;
    let bound = 2 * live * block_bytes(SIZE) + caches * block_bytes(SIZE);
    // And the arena's own chunk, and the spare one.
    let bound = bound as u64 + 2 * u64::from(CHUNK_BYTES);
    assert!(most[0] <= bound, "{most:?} of {bound}");
    assert!(most[1] <= most[0].max(bound), "{most:?}: grows for ever");
    prove_idle(&arena);
}

#[test]
fn bug_25_a_consumer_that_only_frees_does_not_hoard() {
    for (_, config) in CONFIGS {
        produce_and_consume(config, 1);
        produce_and_consume(config, 4);
    }
}

#[test]
fn bug_27_short_lived_workers_leave_nothing_behind() {
    const LIMIT: u32 = 16;
    let memory = MappedMemory::new(64 << 20).unwrap();
    let config = Config {
        max_workers: LIMIT,
        ..Config::DEFAULT
    };
    let arena = arena(&memory, config);
    let short_life = |seed: usize| {
        let worker = arena.attach().unwrap();
        let mut rng = Rng::new(seed as u64);
        let objects: Vec<_> = (0..100)
            .map(|index| Object::alloc(&worker, rng.size(9), index, Extent::Ends).unwrap())
            .collect();
        objects.into_iter().for_each(|object| object.free(&worker));
        worker.detach().ok().unwrap();
    };
    // Four alive at once need four seats, and no more are ever made.
    drop([(); 4].map(|()| arena.attach().unwrap()));
    let seats = |stats: &Stats| {
        stats.metadata_bytes - u64::from(stats.chunks) * u64::from(CHUNK_BYTES) / 16
    };
    let baseline = seats(&arena.stats());
    for round in 0..soak(125) {
        // Each on a thread that ends.
        std::thread::scope(|scope| {
            for number in 0..4 {
                scope.spawn(move || short_life(round * 4 + number));
            }
        });
        let stats = arena.stats();
        assert_eq!(
            (stats.workers, stats.cached_bytes, stats.allocated_bytes),
            (0, 0, 0)
        );
        assert_eq!(seats(&stats), baseline, "round {round}");
        // The arena's own chunk, a spare one, and those that batches in transfer lie in.
        assert!(stats.chunks <= 4, "round {round}: {stats:?}");
    }
    let workers: Vec<_> = (0..LIMIT).map(|_| arena.attach().unwrap()).collect();
    let mut slots: Vec<_> = workers.iter().map(Worker::slot).collect();
    slots.sort_unstable();
    assert!(slots.into_iter().eq(0..LIMIT), "a seat was given twice");
    let before = prove(&arena);
    assert_eq!(arena.attach().err(), Some(AttachError::NoSlot));
    assert_eq!(prove(&arena), before);
    let mut workers = workers.into_iter();
    let left = workers.next().unwrap();
    let seat = left.slot();
    drop(left);
    assert_eq!(arena.attach().unwrap().slot(), seat);
    drop(workers);
    prove_idle(&arena);
}

#[test]
fn bug_27_attaching_without_memory_is_an_answer() {
    let memory = MappedMemory::new(2 << 20).unwrap();
    let arena = arena(&memory, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    let mut objects = Vec::new();
    while let Ok(object) = Object::alloc(&worker, 16, 1, Extent::Whole) {
        objects.push(object);
    }
    let before = prove(&arena);
    assert_eq!(arena.attach().err(), Some(AttachError::OutOfMemory));
    assert_eq!(prove(&arena), before);
    objects.into_iter().for_each(|object| object.free(&worker));
    worker.flush().unwrap();
    drop(arena.attach().unwrap());
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn bug_30_small_objects_do_not_split_and_merge_the_tree_each_time() {
    let memory = MappedMemory::new(64 << 20).unwrap();
    for config in [Config::DEFAULT, Config::SPILL_ONLY] {
        let arena = arena(&memory, config);
        let worker = arena.attach().unwrap();
        let operations = soak(1_000_000) as u64;
        let one_by_one = || {
            for _ in 0..operations {
                let object = worker.alloc(16).unwrap();
                worker.free(object.as_ptr()).unwrap();
            }
        };
        one_by_one();
        let before = arena.stats();
        one_by_one();
        assert_eq!(arena.stats().splits, before.splits);
        assert_eq!(arena.stats().heap_locks, before.heap_locks);

        // More than a cache holds: batches move, and a batch costs few splits an object.
        let by_many = |rounds: u64| {
            for round in 0..rounds {
                let objects: Vec<_> = (0..100)
                    .map(|index| Object::alloc(&worker, 16, round ^ index, Extent::Whole).unwrap())
                    .collect();
                objects.into_iter().for_each(|object| object.free(&worker));
            }
        };
        by_many(10);
        let before = arena.stats();
        by_many(1000);
        let splits = arena.stats().splits - before.splits;
        // The tree is 12 deep; a block of a batch is one split of it each.
        assert!(splits <= 2 * 100_000, "{splits} splits for 100,000 objects");
        drop(worker);
        prove_idle(&arena);
        // SAFETY: nothing is attached or allocated.
        unsafe { arena.destroy() }.unwrap();
    }
}

/// The least time that freeing and allocating 1,000 blocks takes, with `loose` more on their
/// free list.
fn time_with_loose_blocks(loose: usize) -> Duration {
    const TIMED: usize = 1000;
    let memory = MappedMemory::new(64 << 20).unwrap();
    let arena = arena(&memory, Config::NO_CACHES);
    let worker = arena.attach().unwrap();
    let objects: Vec<_> = (0..2 * (loose + TIMED))
        .map(|_| worker.alloc(64).unwrap().as_ptr())
        .collect();
    // Every other one is freed: none finds its buddy free.
    let (free, kept): (Vec<_>, Vec<_>) = objects.chunks(2).map(|pair| (pair[0], pair[1])).unzip();
    for &pointer in &free[TIMED..] {
        worker.free(pointer).unwrap();
    }
    let mut timed = free[..TIMED].to_vec();
    let least = (0..20)
        .map(|_| {
            let start = Instant::now();
            for &pointer in &timed {
                worker.free(pointer).unwrap();
            }
            for pointer in &mut timed {
                *pointer = worker.alloc(64).unwrap().as_ptr();
            }
            start.elapsed()
        })
        .min()
        .expect("twenty runs");
    for pointer in timed.into_iter().chain(kept) {
        worker.free(pointer).unwrap();
    }
    drop(worker);
    prove_idle(&arena);
    least
}

#[test]
fn bug_30_a_free_costs_the_same_beside_a_hundred_thousand_free_blocks() {
    let (few, many) = (
        time_with_loose_blocks(1000),
        time_with_loose_blocks(100_000),
    );
    // A walk of the list would cost a hundred times as much.
    assert!(
        many < 3 * few,
        "{few:?} beside 1,000, {many:?} beside 100,000"
    );
}

/// Threads of a race.
const RACERS: usize = 8;

/// The word of an object that only its holder sets. Behind the links of a free block, so that the
/// allocator never writes there.
fn owner_word<S: ChunkSource>(
    worker: &Worker<'_, S>,
    size: usize,
) -> Result<(*mut u8, &'static AtomicU64), AllocError> {
    let pointer = worker.alloc(size)?.as_ptr();
    // SAFETY: at least 16 bytes, aligned to 16, in a memory that outlives the use of the word;
    // only ever used as an atomic.
    let word = unsafe { &*pointer.add(8).cast::<AtomicU64>() };
    Ok((pointer, word))
}

fn exchange_owners(arena: &Arena<&MappedMemory>, me: u64, rounds: usize, start: &Barrier) {
    let worker = arena.attach().unwrap();
    let mut rng = Rng::new(me);
    let mut held = Vec::new();
    start.wait();
    for _ in 0..rounds {
        for _ in 0..rng.below(40) {
            // Two orders of one cache line's neighbours.
            let size = 16 << rng.below(2);
            let (pointer, word) = owner_word(&worker, size).unwrap();
            let before = word.swap(me, Ordering::Relaxed);
            assert_eq!(before, 0, "{pointer:p} was handed to {me} and to {before}");
            held.push((pointer, word));
        }
        while held.len() > rng.below(30) {
            let (pointer, word) = held.swap_remove(rng.below(held.len()));
            let before = word.swap(0, Ordering::Relaxed);
            assert_eq!(before, me, "{pointer:p} of {me} was taken by {before}");
            worker.free(pointer).unwrap();
        }
    }
    for (pointer, word) in held {
        assert_eq!(word.swap(0, Ordering::Relaxed), me);
        worker.free(pointer).unwrap();
    }
}

#[test]
fn bug_31_no_object_is_handed_to_two_workers() {
    for (_, config) in CONFIGS {
        let memory = MappedMemory::new(64 << 20).unwrap();
        let arena = arena(&memory, config);
        let start = Barrier::new(RACERS);
        std::thread::scope(|scope| {
            for racer in 1..=RACERS as u64 {
                let (arena, start) = (&arena, &start);
                scope.spawn(move || exchange_owners(arena, racer, soak(2000), start));
            }
        });
        prove_idle(&arena);
    }
}
