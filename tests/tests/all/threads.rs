//! Two to eight threads on one arena: each frees its own objects and those that others left for
//! it, under every setting, with memory to spare and with so little that growth, refusals and the
//! last resort happen all the time. Every object carries its stamp at head and tail.

use std::sync::Barrier;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use warena::{AllocError, Arena, Config};
use warena_tests::{
    CONFIGS, CountedSource, Exchange, Extent, Object, Rng, arena, prove_idle, soak,
};

const STEPS: usize = 6_000;
/// Objects that a thread keeps at most.
const KEPT: usize = 200;
/// Objects on their way to a thread at most: one that gets no processor takes none out.
const SENT: usize = 100;

/// How objects change hands.
#[derive(Clone, Copy, Debug)]
enum Hand {
    /// Each thread frees its own.
    Own,
    /// Left in cells, taken by whoever comes by.
    Exchange,
    /// Sent to the next thread, which only frees them.
    Channel,
}

struct Seat<'a> {
    arena: &'a Arena<&'a CountedSource>,
    exchange: &'a Exchange,
    start: &'a Barrier,
    next: SyncSender<Object>,
    inbox: Receiver<Object>,
    max_order: u32,
    hand: Hand,
}

/// What a thread met.
#[derive(Default)]
struct Met {
    allocated: usize,
    refused: usize,
}

fn run(seat: Seat<'_>, number: u64) -> Met {
    let mut rng = Rng::new(number);
    let mut met = Met::default();
    // Before anybody has used the memory up.
    let mut worker = seat.arena.attach().unwrap();
    seat.start.wait();
    let mut kept: Vec<Object> = Vec::new();
    for step in 0..soak(STEPS) {
        let stamp = number << 48 | step as u64;
        match rng.below(16) {
            0 => {
                // Several at once, from one block, each its own object from here on.
                let (size, n_order) = (1 << rng.below(8), rng.below(5) as u32);
                let mut out = [std::ptr::null_mut(); 16];
                match worker.alloc_bulk(size, n_order, &mut out) {
                    Ok(()) => kept.extend(out[..1 << n_order].iter().map(|&pointer| {
                        let pointer = std::ptr::NonNull::new(pointer).unwrap();
                        // SAFETY: just allocated for `size` bytes each.
                        unsafe { Object::adopt(pointer, size, stamp, Extent::Ends) }
                    })),
                    Err(error) => {
                        assert_eq!(error, AllocError::OutOfMemory);
                        met.refused += 1;
                    }
                }
            }
            1 => {
                let from = kept.len() - kept.len().min(10);
                let pointers: Vec<_> = kept.drain(from..).map(|object| object.retire()).collect();
                let freed = worker.free_bulk(&pointers, |_, error| panic!("{error}"));
                assert_eq!(freed, pointers.len());
            }
            2 if step % 64 == 0 => worker.flush().unwrap(),
            3 if step % 64 == 1 => {
                worker.detach().ok().unwrap();
                worker = seat.arena.attach().unwrap();
            }
            _ => match Object::alloc(&worker, rng.size(seat.max_order), stamp, Extent::Ends) {
                Ok(object) => {
                    met.allocated += 1;
                    let passed = match seat.hand {
                        Hand::Own => Some(object),
                        Hand::Exchange => {
                            let cell = rng.below(seat.exchange.cells());
                            seat.exchange.swap(cell, Some(object))
                        }
                        Hand::Channel => {
                            // Never waits: the threads are a ring.
                            seat.next.try_send(object).err().map(|error| match error {
                                TrySendError::Full(object) | TrySendError::Disconnected(object) => {
                                    object
                                }
                            })
                        }
                    };
                    kept.extend(passed);
                }
                Err(error) => {
                    assert_eq!(error, AllocError::OutOfMemory);
                    met.refused += 1;
                    // Make room as a program would.
                    let half = kept.len() / 2;
                    kept.drain(half..).for_each(|object| object.free(&worker));
                }
            },
        }
        seat.inbox
            .try_iter()
            .for_each(|object| object.free(&worker));
        while kept.len() > KEPT {
            let object = kept.swap_remove(rng.below(kept.len()));
            object.free(&worker);
        }
    }
    kept.into_iter().for_each(|object| object.free(&worker));
    // The ring ends when every sender has hung up; nothing that was sent is left behind.
    drop(seat.next);
    seat.inbox.iter().for_each(|object| object.free(&worker));
    met
}

/// Runs `threads` threads on a fresh memory of `chunks` usable chunks, and proves the arena.
fn race(threads: usize, chunks: u64, max_order: u32, config: Config, hand: Hand) -> Met {
    let source = CountedSource::new((chunks + 1) << 20);
    let arena = arena(&source, config);
    let exchange = Exchange::new(4 * threads);
    let start = Barrier::new(threads);
    let (mut senders, inboxes): (Vec<_>, Vec<_>) = (0..threads).map(|_| sync_channel(SENT)).unzip();
    // Each sends to the next one.
    senders.rotate_left(1);
    let mut met = Met::default();
    std::thread::scope(|scope| {
        let racers: Vec<_> = (0..)
            .zip(senders.into_iter().zip(inboxes))
            .map(|(number, (next, inbox))| {
                let (arena, exchange, start) = (&arena, &exchange, &start);
                let seat = Seat {
                    arena,
                    exchange,
                    start,
                    next,
                    inbox,
                    max_order,
                    hand,
                };
                scope.spawn(move || run(seat, number))
            })
            .collect();
        for racer in racers {
            let one = racer.join().unwrap();
            met.allocated += one.allocated;
            met.refused += one.refused;
        }
    });
    let worker = arena.attach().unwrap();
    exchange.drain().for_each(|object| object.free(&worker));
    drop(worker);
    prove_idle(&arena);
    // SAFETY: nothing is attached or allocated.
    unsafe { arena.destroy() }.unwrap();
    assert_eq!(source.held(), 0);
    met
}

fn every_config(hand: Hand) {
    for (name, config) in CONFIGS {
        for threads in [2, 4, 8] {
            let roomy = race(threads, 255, 13, config, hand);
            assert_eq!(roomy.refused, 0, "{name}, {threads} threads, {hand:?}");
            assert!(roomy.allocated > 0);
            // Small enough that eight threads' objects do not fit.
            let tight = race(threads, 2, 15, config, hand);
            assert!(tight.refused > 0, "{name}, {threads} threads, {hand:?}");
            assert!(tight.allocated > 0);
        }
    }
}

#[test]
fn each_frees_its_own() {
    every_config(Hand::Own);
}

#[test]
fn each_frees_what_others_left_in_cells() {
    every_config(Hand::Exchange);
}

#[test]
fn each_frees_what_another_sent() {
    every_config(Hand::Channel);
}
