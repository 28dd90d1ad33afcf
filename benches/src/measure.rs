//! One round of one heap in one cell, and what a number of rounds comes to.
//!
//! ```text
//!   coordinator  ── gate ─ CPU time ─ gate ─ sleep, stop ─ gate ─ CPU time ─ gate ─ sleep, stop
//!   producers    ── gate ─────────── gate ─ cycles ────── gate ─────────── gate ─ timed cycles
//!     (warm-up)                             └ pair_ns, cpu_ns_per_pair          └ alloc_ns, free_ns
//! ```
//!
//! A pair, one allocation and one free, is timed over many cycles by two readings of the clock.
//! The two halves of it can only be told apart by readings between the phases of every cycle, so
//! they come from cycles of their own, and only where a phase is long against a reading; the
//! others have no figure.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Error, Result, ensure};

use crate::clock::{Clock, cpu_ns, now_ns, sleep};
use crate::crew::Crew;
use crate::heap::{Heap, Producer};
use crate::workload::{Cycle, Exchange, LEAST_SIZE, Timer, Untimed, Workload};

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// What the producers do.
    pub workload: Workload,
    /// How many do it at once.
    pub producers: usize,
    /// Objects a cycle.
    pub allocs: usize,
    /// Bytes of each object.
    pub size: usize,
    /// Full chunks that the heap has before: the benchmark of that name.
    pub chunks: Option<usize>,
}

/// How it is measured.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How long a round times pairs; phases get half of that.
    pub length: Duration,
    /// How long each producer runs before.
    pub warm_up: Duration,
    /// The clock of the host.
    pub clock: Clock,
    /// Processors of the host: more producers than that take turns.
    pub cores: usize,
}

/// The figures of a round: means over everything that its producers did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// ns of an allocation and a free as a producer sees them, waiting for a processor included.
    pub pair_ns: f64,
    /// ns of an allocation alone.
    pub alloc_ns: Option<f64>,
    /// ns of a free alone.
    pub free_ns: Option<f64>,
    /// ns of processor time that the whole process spent, by pairs of all producers.
    pub cpu_ns_per_pair: Option<f64>,
    /// Pairs that were timed.
    pub pairs: u64,
}

/// Time and operations that add up.
#[derive(Default)]
struct Total {
    ns: AtomicU64,
    operations: AtomicU64,
}

impl Total {
    fn add(&self, ns: u64, operations: u64) {
        self.ns.fetch_add(ns, Ordering::Relaxed);
        self.operations.fetch_add(operations, Ordering::Relaxed);
    }

    fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// ns of one operation, if there were any.
    fn mean(&self) -> Option<f64> {
        let ns = self.ns.load(Ordering::Relaxed) as f64;
        (self.operations() > 0).then(|| ns / self.operations() as f64)
    }
}

/// What the coordinator and the producers of a round share.
struct Stage {
    exchange: Exchange,
    gate: Barrier,
    stop: AtomicBool,
    time_phases: AtomicBool,
    pairs: Total,
    allocations: Total,
    frees: Total,
    failure: Mutex<Option<Error>>,
}

/// Measures a fresh heap for one round, and ends it. Fails if anything about it was wrong.
pub fn round<H: Heap>(crew: &Crew, heap: H, cell: &Cell, plan: &Plan) -> Result<Sample> {
    ensure!(cell.size >= LEAST_SIZE, "objects need {LEAST_SIZE} bytes");
    let stage = Stage {
        exchange: Exchange::default(),
        gate: Barrier::new(cell.producers + 1),
        stop: AtomicBool::new(false),
        time_phases: AtomicBool::new(false),
        pairs: Total::default(),
        allocations: Total::default(),
        frees: Total::default(),
        failure: Mutex::default(),
    };
    let job = |index: usize| {
        if let Err(error) = produce(&heap, &stage, cell, index as u32, plan) {
            let mut failure = stage.failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert(error);
        }
    };
    let cpu_ns = crew.run(cell.producers, &job, || coordinate(&stage, cell, plan));
    let failure = stage.failure.into_inner();
    if let Some(error) = failure.unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let mut last = heap.join()?;
    cell.cycle(cell.producers as u32, &stage.exchange)
        .drain(&mut last)?;
    last.leave()?;
    heap.finish()?;
    let pairs = stage.pairs.operations();
    Ok(Sample {
        pair_ns: stage.pairs.mean().context("no producer ran a cycle")?,
        alloc_ns: stage.allocations.mean(),
        free_ns: stage.frees.mean(),
        cpu_ns_per_pair: cpu_ns.map(|ns| ns as f64 / pairs as f64),
        pairs,
    })
}

impl Cell {
    fn cycle<'a>(&self, owner: u32, exchange: &'a Exchange) -> Cycle<'a> {
        Cycle {
            workload: self.workload,
            allocs: self.allocs,
            size: self.size,
            owner,
            exchange,
        }
    }
}

/// The coordinator's part: opens the gates, and returns the CPU time that the pairs took.
fn coordinate(stage: &Stage, cell: &Cell, plan: &Plan) -> Option<u64> {
    stage.gate.wait();
    let before = cpu_ns();
    stage.gate.wait();
    sleep(plan.length);
    stage.stop.store(true, Ordering::Relaxed);
    stage.gate.wait();
    let spent = cpu_ns().zip(before).map(|(after, before)| after - before);

    let share = (plan.cores as f64 / cell.producers as f64).min(1.0);
    let phase_ns = stage.pairs.mean().unwrap_or(0.0) * share * cell.allocs as f64 / 2.0;
    let time_phases = plan.clock.can_time(phase_ns);
    stage.time_phases.store(time_phases, Ordering::Relaxed);
    stage.stop.store(false, Ordering::Relaxed);
    stage.gate.wait();
    if time_phases {
        sleep(plan.length / 2);
        stage.stop.store(true, Ordering::Relaxed);
    }
    spent
}

/// A producer's part. Whatever fails, it comes to every gate, since the others wait there.
fn produce<H: Heap>(heap: &H, stage: &Stage, cell: &Cell, owner: u32, plan: &Plan) -> Result<()> {
    let cycle = cell.cycle(owner, &stage.exchange);
    // Enough of them that looking at a clock or a flag costs nothing.
    let burst = 256_usize.div_ceil(cell.allocs);
    let mut seat = heap.join();

    attempt(&mut seat, |producer| {
        let begin = now_ns();
        while now_ns() - begin < plan.warm_up.as_nanos() as u64 {
            for _ in 0..burst {
                cycle.run(producer, &mut Untimed)?;
            }
        }
        Ok(())
    });
    stage.gate.wait();
    stage.gate.wait();

    attempt(&mut seat, |producer| {
        let begin = now_ns();
        let mut bursts = 0;
        loop {
            for _ in 0..burst {
                cycle.run(producer, &mut Untimed)?;
            }
            bursts += 1;
            if stage.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        let pairs = bursts * burst * cell.allocs;
        stage.pairs.add(now_ns() - begin, pairs as u64);
        Ok(())
    });
    stage.gate.wait();
    stage.gate.wait();

    if stage.time_phases.load(Ordering::Relaxed) {
        attempt(&mut seat, |producer| {
            let mut phases = Phases::default();
            while !stage.stop.load(Ordering::Relaxed) || phases.cycles == 0 {
                cycle.run(producer, &mut phases)?;
                phases.cycles += 1;
            }
            phases.report(stage, &plan.clock);
            Ok(())
        });
    }
    seat?.leave()
}

/// Does `work` unless something failed before; what fails now takes the producer's place.
fn attempt<P>(seat: &mut Result<P>, work: impl FnOnce(&mut P) -> Result<()>) {
    if let Ok(producer) = seat
        && let Err(error) = work(producer)
    {
        *seat = Err(error);
    }
}

/// Times the phases of one producer's cycles.
#[derive(Default)]
struct Phases {
    cycles: u64,
    alloc_ns: u64,
    alloc_phases: u64,
    allocations: u64,
    free_ns: u64,
    free_phases: u64,
    frees: u64,
}

impl Timer for Phases {
    type Reading = u64;

    #[inline(always)]
    fn read(&self) -> u64 {
        now_ns()
    }

    #[inline(always)]
    fn allocated(&mut self, since: u64, objects: usize) {
        self.alloc_ns += now_ns() - since;
        self.alloc_phases += 1;
        self.allocations += objects as u64;
    }

    #[inline(always)]
    fn freed(&mut self, since: u64, objects: usize) {
        self.free_ns += now_ns() - since;
        self.free_phases += 1;
        self.frees += objects as u64;
    }
}

impl Phases {
    /// Adds to the totals, less what reading the clock cost.
    fn report(&self, stage: &Stage, clock: &Clock) {
        let net = |ns: u64, phases: u64| ns.saturating_sub((phases as f64 * clock.cost_ns) as u64);
        let alloc_ns = net(self.alloc_ns, self.alloc_phases);
        stage.allocations.add(alloc_ns, self.allocations);
        stage
            .frees
            .add(net(self.free_ns, self.free_phases), self.frees);
    }
}

/// The medians of the rounds, each figure by itself; operations add up. A figure that some round
/// could not measure is none.
pub fn summary(samples: &[Sample]) -> Sample {
    let figure = |get: fn(&Sample) -> Option<f64>| {
        let all: Option<Vec<f64>> = samples.iter().map(get).collect();
        median(all?)
    };
    Sample {
        pair_ns: figure(|sample| Some(sample.pair_ns)).unwrap_or(f64::NAN),
        alloc_ns: figure(|sample| sample.alloc_ns),
        free_ns: figure(|sample| sample.free_ns),
        cpu_ns_per_pair: figure(|sample| sample.cpu_ns_per_pair),
        pairs: samples.iter().map(|sample| sample.pairs).sum(),
    }
}

fn median(mut figures: Vec<f64>) -> Option<f64> {
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    let upper = *figures.get(middle)?;
    Some(if figures.len() % 2 == 1 {
        upper
    } else {
        (figures[middle - 1] + upper) / 2.0
    })
}
