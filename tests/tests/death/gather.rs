//! A worker ends with the lock of a transfer cache in its hands, and another one, which may wait, finds
//! the arena full and gathers what the transfer caches hold: it must not keep the heap from whoever
//! reaps the dead.

use std::mem::ManuallyDrop;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};
use warena::{AllocError, Arena, Config, Death, MAX_BLOCK_BYTES, Worker, agent_number, die_at};
use warena_tests::{GatedSource, hurried, prove};

type Source = &'static GatedSource;

/// For how long the dead can stay unreaped.
const PATIENCE: Duration = Duration::from_secs(20);

/// Fills a transfer cache by and by, as an agent that ends at the write of that number; its number,
/// and whether it got through.
fn spill(arena: &Arena<Source>, dies_at: u32) -> (u32, bool) {
    let worker = ManuallyDrop::new(arena.attach().unwrap());
    let objects: Vec<_> = (0..40).map(|_| worker.alloc(64).unwrap()).collect();
    die_at(Some(dies_at));
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        for object in objects {
            worker.free(object.as_ptr()).unwrap();
        }
    }));
    match result {
        Ok(()) => (agent_number(), true),
        Err(end) if end.is::<Death>() => (agent_number(), false),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// One death at that write; whether the worker lived, and whether it had held a transfer cache's lock.
fn play(dies_at: u32) -> (bool, bool) {
    // Left behind: if somebody waits for ever, they stay in use.
    let source: Source = Box::leak(Box::new(GatedSource::new(8 << 20)));
    let config = Config {
        burst_capacity: Config::DEFAULT.capacity,
        ..Config::DEFAULT
    };
    let arena: &'static Arena<Source> = Box::leak(Box::new(warena_tests::arena(source, config)));
    // The transfer cache has something to be gathered, whatever the one that dies adds.
    let keeper: ManuallyDrop<Worker<'static, Source>> = ManuallyDrop::new(arena.attach().unwrap());
    let objects: Vec<_> = (0..40).map(|_| keeper.alloc(64).unwrap()).collect();
    for object in objects {
        keeper.free(object.as_ptr()).unwrap();
    }
    let (dead, survived) = thread::spawn(move || spill(arena, dies_at)).join().unwrap();

    let (done, gathered) = channel();
    thread::spawn(move || {
        let worker = arena.attach().unwrap();
        let large = MAX_BLOCK_BYTES as usize;
        // The last one gathers before it is refused.
        let refused = (0..8).find_map(|_| worker.alloc_nogrow(large).err());
        done.send(refused).unwrap();
    });
    // Until it waits, or is done.
    thread::sleep(Duration::from_millis(2));
    let reaper = hurried(source, arena);
    let end = Instant::now() + PATIENCE;
    let reaped = loop {
        // SAFETY: the agent's thread has ended.
        match unsafe { reaper.reap_agent(dead) } {
            Ok(reaped) => break reaped,
            Err(error) => assert!(Instant::now() < end, "write {dies_at}: {error}"),
        }
    };
    let refused = gathered.recv_timeout(PATIENCE);
    assert_eq!(
        refused,
        Ok(Some(AllocError::OutOfMemory)),
        "write {dies_at}"
    );
    prove(arena);
    (survived, reaped.recovered_transfers > 0)
}

#[test]
fn who_gathers_keeps_nobody_from_reaping() {
    let mut held = 0;
    for dies_at in 0.. {
        let (survived, recovered) = play(dies_at);
        held += u32::from(recovered);
        if survived {
            break;
        }
    }
    assert!(held > 0, "nobody died with the lock in its hands");
}
