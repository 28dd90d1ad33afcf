//! Random operations by the billion, on one thread and on several, with every object checked.
//!
//! ```text
//! cargo run --release -p warena-tests --bin soak -- OPERATIONS [THREADS]
//! ```
//!
//! Does that many operations under each thread count (1, and THREADS, 4 unless said otherwise),
//! spread evenly over all settings of the concurrent tests and checking mode. Every object carries its stamp at both
//! ends, which is checked when it is resized and freed; one operation in a thousand is a bad free,
//! which must be refused. `verify()` proves each arena at its end, when nothing may be left. The
//! first thing that is wrong ends the run with a panic.

use std::time::Instant;
use warena::{AllocError, Arena, Config, FreeError, Worker};
use warena_tests::{
    CONFIGS, CountedSource, Exchange, Extent, Object, Rng, arena, hurried, prove_idle,
};

/// Objects that a thread keeps at most.
const KEPT: usize = 256;
/// Chunks of the memory that a thread has on average: so few that it is full now and then.
const CHUNKS_A_THREAD: u64 = 4;

type Source = CountedSource;

fn main() {
    let mut numbers = std::env::args().skip(1).map(|text| {
        let plain = text.replace('_', "");
        plain
            .parse::<u64>()
            .unwrap_or_else(|_| panic!("{text:?} is not a whole number"))
    });
    let operations = numbers.next().expect("soak OPERATIONS [THREADS]");
    let threads = numbers.next().unwrap_or(4);
    for threads in [1, threads] {
        let configs = CONFIGS.into_iter().chain([("checking", Config::CHECKING)]);
        for (name, config) in configs {
            let share = operations / (CONFIGS.len() as u64 + 1);
            let start = Instant::now();
            let done = run(config, threads, share);
            println!(
                "{threads} threads, {name:<18} {operations:>12} operations, {allocated} allocated, \
                 {refused} refused for lack of memory, {bad} bad frees refused, {seconds:.0} s",
                operations = done.operations,
                allocated = done.allocated,
                refused = done.refused,
                bad = done.bad,
                seconds = start.elapsed().as_secs_f64(),
            );
        }
    }
    println!("all arenas proven: nothing live, nothing lost, no violation");
}

/// What was done.
#[derive(Default)]
struct Done {
    operations: u64,
    allocated: u64,
    refused: u64,
    bad: u64,
}

fn run(config: Config, threads: u64, operations: u64) -> Done {
    let source = Source::new((CHUNKS_A_THREAD * threads + 2) << 20);
    let arena = arena(&source, config);
    let hurried = hurried(&source, &arena);
    let exchange = Exchange::new(16 * threads as usize);
    let mut all = Done::default();
    std::thread::scope(|scope| {
        let seats: Vec<_> = (0..threads)
            .map(|thread| {
                // Every third agent may not wait.
                let arena = if thread % 3 == 2 { &hurried } else { &arena };
                let exchange = &exchange;
                scope.spawn(move || Seat::new(arena, exchange, thread).run(operations / threads))
            })
            .collect();
        for seat in seats {
            let done = seat.join().expect("a thread found something wrong");
            all.operations += done.operations;
            all.allocated += done.allocated;
            all.refused += done.refused;
            all.bad += done.bad;
        }
    });
    let worker = arena.attach().expect("a seat that was left");
    exchange.drain().for_each(|object| object.free(&worker));
    drop(worker);
    prove_idle(&arena);
    // SAFETY: nothing is attached or allocated.
    unsafe { arena.destroy() }.expect("nobody holds the lock");
    assert_eq!(source.held(), 0, "chunks were not given back");
    all
}

/// One thread and its objects.
struct Seat<'a> {
    worker: Worker<'a, &'a Source>,
    exchange: &'a Exchange,
    rng: Rng,
    kept: Vec<Object>,
    done: Done,
}

impl<'a> Seat<'a> {
    fn new(arena: &'a Arena<&'a Source>, exchange: &'a Exchange, thread: u64) -> Self {
        let worker = loop {
            if let Ok(worker) = arena.attach() {
                break worker;
            }
        };
        Self {
            worker,
            exchange,
            rng: Rng::new(thread),
            kept: Vec::with_capacity(KEPT + 32),
            done: Done::default(),
        }
    }

    fn run(mut self, operations: u64) -> Done {
        while self.done.operations < operations {
            self.step();
        }
        let worker = &self.worker;
        self.kept.drain(..).for_each(|object| object.free(worker));
        let mut worker = self.worker;
        while let Err((_, busy)) = worker.detach() {
            worker = busy;
        }
        self.done
    }

    fn step(&mut self) {
        self.done.operations += 1;
        let stamp = self.rng.bits();
        match stamp % 1000 {
            0 => self.free_badly(),
            1..=9 => self.bulk(),
            10 => {
                // An agent that may not wait can find the heap busy; nothing was changed then.
                let _ = self.worker.flush();
            }
            11..=60 => self.resize(),
            61..=500 if self.kept.len() < KEPT => self.alloc(stamp),
            501..=530 => {
                let cell = self.rng.below(self.exchange.cells());
                let mine = self.kept.pop();
                self.kept.extend(self.exchange.swap(cell, mine));
            }
            _ => self.free(),
        }
    }

    fn size(&mut self) -> usize {
        match self.rng.below(2000) {
            0 => 1 + self.rng.below(3 << 20),
            1..=100 => self.rng.size(15),
            _ => self.rng.size(8),
        }
    }

    fn alloc(&mut self, stamp: u64) {
        let size = self.size();
        let worker = &self.worker;
        let result = match stamp >> 32 & 15 {
            0 => worker.alloc_zeroed(size).inspect(|pointer| {
                // SAFETY: just allocated for `size` bytes.
                let bytes = unsafe { std::slice::from_raw_parts(pointer.as_ptr(), size) };
                assert!(
                    bytes.iter().all(|&byte| byte == 0),
                    "{size:#x} bytes are not zero"
                );
            }),
            1 => {
                let align = 1 << (stamp >> 40 & 15);
                worker.alloc_aligned(size, align).inspect(|pointer| {
                    assert_eq!(pointer.as_ptr() as usize % align, 0);
                })
            }
            2 => worker.alloc_nogrow(size),
            3 => worker.alloc_nowait(size),
            _ => worker.alloc(size),
        };
        match result {
            Ok(pointer) => {
                self.done.allocated += 1;
                // SAFETY: just allocated for `size` bytes.
                self.kept
                    .push(unsafe { Object::adopt(pointer, size, stamp, Extent::Ends) });
            }
            Err(AllocError::OutOfMemory | AllocError::Busy) => {
                self.done.refused += 1;
                let half = self.kept.len() / 2;
                self.kept
                    .drain(half..)
                    .for_each(|object| object.free(&self.worker));
            }
            Err(error) => panic!("{size:#x} bytes: {error}"),
        }
    }

    fn bulk(&mut self) {
        let (size, n_order) = (self.rng.size(6), self.rng.below(5) as u32);
        let mut out = [std::ptr::null_mut(); 16];
        if self.worker.alloc_bulk(size, n_order, &mut out).is_ok() {
            let count = 1 << n_order;
            let (kept, rest) = out[..count].split_at(count / 2);
            for &pointer in kept {
                let pointer = std::ptr::NonNull::new(pointer).expect("allocated");
                let stamp = self.rng.bits();
                // SAFETY: just allocated for `size` bytes.
                self.kept
                    .push(unsafe { Object::adopt(pointer, size, stamp, Extent::Ends) });
            }
            let freed = self
                .worker
                .free_bulk(rest, |_, error| panic!("bulk: {error}"));
            assert_eq!(freed, rest.len());
        }
    }

    fn resize(&mut self) {
        let Some(object) = self.kept.pop() else {
            return;
        };
        let (old, size, stamp) = (object.size(), self.size(), self.rng.bits());
        object.check();
        // SAFETY: the object is this thread's; only its head is compared below.
        let head = |pointer: *mut u8| unsafe { pointer.read() };
        let first = head(object.pointer());
        match self.worker.realloc(object.pointer(), size) {
            Ok(pointer) => {
                assert_eq!(head(pointer.as_ptr()), first, "{old:#x} to {size:#x}");
                // SAFETY: resized to `size` bytes.
                self.kept
                    .push(unsafe { Object::adopt(pointer, size, stamp, Extent::Ends) });
            }
            Err(_) => {
                self.done.refused += 1;
                object.check();
                self.kept.push(object);
            }
        }
    }

    fn free(&mut self) {
        if self.kept.is_empty() {
            return;
        }
        let object = self.kept.swap_remove(self.rng.below(self.kept.len()));
        if self.rng.below(8) == 0 {
            let pointer = object.retire();
            self.worker.free_nowait(pointer).expect("a live object");
        } else {
            object.free(&self.worker);
        }
    }

    /// Inside a live object of this thread, and unaligned: nobody else can make these good.
    fn free_badly(&mut self) {
        let Some(object) = self.kept.last() else {
            return;
        };
        let unaligned = self.worker.free(object.pointer().wrapping_add(1));
        assert_eq!(unaligned, Err(FreeError::Unaligned));
        self.done.bad += 1;
        if object.size() > 16 {
            let inside = self.worker.free(object.pointer().wrapping_add(16));
            assert_eq!(inside, Err(FreeError::Interior));
            self.done.bad += 1;
        }
        object.check();
    }
}
