//! Growth races: row 21 of the failures of other allocators. Many workers of one arena, and many
//! arenas of one memory, grow at the same moment.

use std::sync::Barrier;
use warena::{CHUNK_BYTES, Config, MAX_BLOCK_BYTES};
use warena_tests::{
    CONFIGS, CountedSource, Extent, Intervals, Object, Rng, arena, block_bytes, prove, prove_idle,
    soak,
};

/// Threads of a race.
const RACERS: usize = 8;

#[test]
fn bug_21_a_growth_race_hands_out_each_chunk_once() {
    const OBJECTS: usize = 200;
    for round in 0..soak(4) {
        let source = CountedSource::new(1 << 30);
        let arena = arena(&source, CONFIGS[round % CONFIGS.len()].1);
        let start = Barrier::new(RACERS);
        let objects: Vec<Object> = std::thread::scope(|scope| {
            let racers: Vec<_> = (0..RACERS)
                .map(|racer| {
                    let (arena, start) = (&arena, &start);
                    scope.spawn(move || {
                        let worker = arena.attach().unwrap();
                        let mut rng = Rng::new((round * RACERS + racer) as u64);
                        start.wait();
                        (0..OBJECTS)
                            .map(|index| {
                                let size = rng.size(15).max(1024);
                                let stamp = (racer << 32 | index) as u64;
                                Object::alloc(&worker, size, stamp, Extent::Ends).unwrap()
                            })
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            racers
                .into_iter()
                .flat_map(|racer| racer.join().unwrap())
                .collect()
        });
        let mut live = Intervals::default();
        for object in &objects {
            live.add(object.pointer() as usize, block_bytes(object.size()));
            object.check();
        }
        let found = prove(&arena);
        assert_eq!(found.allocated_bytes, live.bytes() as u64);
        // Of a chunk, 15/16 can be allocated; the largest block fits once.
        let owned = found.owned_bytes as usize;
        assert!(
            owned <= 2 * live.bytes() + CHUNK_BYTES as usize,
            "{found:?}"
        );
        let worker = arena.attach().unwrap();
        objects.into_iter().for_each(|object| object.free(&worker));
        drop(worker);
        prove_idle(&arena);
    }
}

#[test]
fn bug_21_arenas_that_grow_at_once_use_up_a_memory_to_its_last_chunk() {
    const CHUNKS: u32 = 40;
    let largest = MAX_BLOCK_BYTES as usize;
    for _ in 0..soak(100) {
        let source = CountedSource::new(u64::from(CHUNKS + 1) << 20);
        let start = Barrier::new(RACERS);
        let arenas: Vec<_> = (0..RACERS)
            .map(|_| arena(&source, Config::DEFAULT))
            .collect();
        let taken: Vec<Vec<Object>> = std::thread::scope(|scope| {
            let racers: Vec<_> = arenas
                .iter()
                .map(|arena| {
                    scope.spawn(|| {
                        let worker = arena.attach().unwrap();
                        start.wait();
                        std::iter::from_fn(|| Object::alloc(&worker, largest, 1, Extent::Ends).ok())
                            .collect()
                    })
                })
                .collect();
            let joined = racers.into_iter().map(|racer| racer.join().unwrap());
            joined.collect()
        });
        assert_eq!(
            source.held(),
            CHUNKS,
            "refused before the last chunk was taken"
        );
        for (arena, objects) in arenas.into_iter().zip(taken) {
            let worker = arena.attach().unwrap();
            objects.into_iter().for_each(|object| object.free(&worker));
            drop(worker);
            prove_idle(&arena);
            // SAFETY: the only worker is detached and nothing is allocated.
            unsafe { arena.destroy() }.unwrap();
        }
        assert_eq!(source.held(), 0);
    }
}
