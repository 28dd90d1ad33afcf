//! One round of one heap in one cell.
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
use serde::{Deserialize, Serialize};

use crate::cell::{Bench, Cell};
use crate::clock::{Clock, cpu_ns, now_ns, sleep};
use crate::crew::Crew;
use crate::heap::{Heap, Producer};
use crate::object::LEAST_SIZE;
use crate::sizes::Sizes;
use crate::workload::{
    Cycle, Growth, Larson, Ledger, Lists, ProdCon, Replay, Timer, Untimed, Workload,
};

/// How a round is measured.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Sample {
    /// ns of an allocation and a free as a producer sees them, waiting for a processor included.
    /// That many, divided by the number of producers, pass between two pairs of all of them.
    pub pair_ns: f64,
    /// ns of an allocation alone.
    pub alloc_ns: Option<f64>,
    /// ns of a free alone.
    pub free_ns: Option<f64>,
    /// ns of processor time that the whole process spent, by pairs of all producers.
    pub cpu_ns_per_pair: Option<f64>,
    /// Pairs that were timed.
    pub pairs: u64,
    /// Most bytes that the heap has had from the platform, at the end of the round; of a trace,
    /// when it had been replayed once.
    pub peak_grown: Option<u64>,
    /// The same in the middle of the time.
    pub peak_grown_half: Option<u64>,
    /// Most bytes that the producers had asked for and not freed, where that was counted.
    pub peak_requested: Option<u64>,
}

/// Measures a fresh heap for one round, and ends it. Fails if anything about it was wrong.
pub fn round<H: Heap>(crew: &Crew, heap: H, cell: &Cell, plan: &Plan) -> Result<Sample> {
    let least = cell.trace.is_some() || cell.sizes.most() >= LEAST_SIZE;
    ensure!(least, "objects need {LEAST_SIZE} bytes");
    match cell.bench {
        Bench::ProdCon => work(crew, heap, &ProdCon::new(cell), cell, plan),
        Bench::Larson => work(crew, heap, &Larson::new(cell), cell, plan),
        Bench::ReallocGrow | Bench::FrontsGrow => work(crew, heap, &Growth::new(cell), cell, plan),
        Bench::Trace => work(crew, heap, &Replay::new(cell)?, cell, plan),
        _ if matches!(cell.sizes, Sizes::Fixed(_)) => {
            work(crew, heap, &Lists::fixed(cell), cell, plan)
        }
        _ => work(crew, heap, &Lists::drawn(cell), cell, plan),
    }
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
struct Stage<'a, H, W> {
    heap: &'a H,
    workload: &'a W,
    plan: &'a Plan,
    gate: Barrier,
    stop: AtomicBool,
    time_phases: AtomicBool,
    pairs: Total,
    allocations: Total,
    frees: Total,
    ledger: Ledger,
    failure: Mutex<Option<Error>>,
}

/// What the coordinator found out.
struct Observed {
    cpu_ns: Option<u64>,
    grown: Option<u64>,
    grown_half: Option<u64>,
}

fn work<H: Heap, W: Workload>(
    crew: &Crew,
    heap: H,
    workload: &W,
    cell: &Cell,
    plan: &Plan,
) -> Result<Sample> {
    let stage = Stage {
        heap: &heap,
        workload,
        plan,
        gate: Barrier::new(cell.producers + 1),
        stop: AtomicBool::new(false),
        time_phases: AtomicBool::new(false),
        pairs: Total::default(),
        allocations: Total::default(),
        frees: Total::default(),
        ledger: Ledger::default(),
        failure: Mutex::default(),
    };
    let job = |index: usize| {
        if let Err(error) = produce(&stage, index as u32) {
            let mut failure = stage.failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert(error);
        }
    };
    let observed = crew.run(cell.producers, &job, || coordinate(&stage, cell));
    let failure = stage.failure.into_inner();
    if let Some(error) = failure.unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let mut last = heap.join()?;
    workload.drain(&mut last)?;
    last.leave()?;
    let pairs = stage.pairs.operations();
    let sample = Sample {
        pair_ns: stage.pairs.mean().context("no producer ran a cycle")?,
        alloc_ns: stage.allocations.mean(),
        free_ns: stage.frees.mean(),
        cpu_ns_per_pair: observed.cpu_ns.map(|ns| ns as f64 / pairs as f64),
        pairs,
        peak_grown: observed.grown,
        peak_grown_half: observed.grown_half,
        peak_requested: stage.ledger.peak(),
    };
    heap.finish()?;
    Ok(sample)
}

/// The coordinator's part: opens the gates, and watches the process and the heap.
fn coordinate<H: Heap, W: Workload>(stage: &Stage<'_, H, W>, cell: &Cell) -> Observed {
    let plan = stage.plan;
    stage.gate.wait();
    let first = stage.heap.peak_grown();
    let before = cpu_ns();
    stage.gate.wait();
    sleep(plan.length / 2);
    let grown_half = stage.heap.peak_grown();
    sleep(plan.length / 2);
    stage.stop.store(true, Ordering::Relaxed);
    stage.gate.wait();
    let spent = cpu_ns().zip(before).map(|(after, before)| after - before);
    let observed = Observed {
        cpu_ns: spent,
        grown: if W::COUNTED {
            first
        } else {
            stage.heap.peak_grown()
        },
        grown_half: grown_half.filter(|_| !W::COUNTED),
    };

    let share = (plan.cores as f64 / cell.producers as f64).min(1.0);
    let phase_ns = stage.pairs.mean().unwrap_or(0.0) * share * cell.allocs as f64 / 2.0;
    let time_phases = W::PHASES
        && plan
            .clock
            .can_time(phase_ns, plan.length.as_nanos() as f64 / 2.0);
    stage.time_phases.store(time_phases, Ordering::Relaxed);
    stage.stop.store(false, Ordering::Relaxed);
    stage.gate.wait();
    if time_phases {
        sleep(plan.length / 2);
        stage.stop.store(true, Ordering::Relaxed);
    }
    observed
}

/// A producer's part. Whatever fails, it comes to every gate, since the others wait there.
fn produce<H: Heap, W: Workload>(stage: &Stage<'_, H, W>, owner: u32) -> Result<()> {
    let plan = stage.plan;
    let mut cycle = stage.workload.cycle(owner);
    // Enough of them that looking at a clock or a flag costs nothing.
    let burst = 256_usize.div_ceil(cycle.pairs().max(1));
    let mut seat = stage.heap.join();

    attempt(&mut seat, |producer| {
        let begin = now_ns();
        // Warms up as well: of such cycles one may take seconds.
        if W::COUNTED {
            cycle.run(producer, &mut &stage.ledger)?;
        }
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
        let mut pairs = 0;
        loop {
            for _ in 0..burst {
                pairs += cycle.run(producer, &mut Untimed)?;
            }
            if stage.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        stage.pairs.add(now_ns() - begin, pairs as u64);
        Ok(())
    });
    stage.gate.wait();
    stage.gate.wait();

    if stage.time_phases.load(Ordering::Relaxed) {
        attempt(&mut seat, |producer| {
            let mut phases = Phases::default();
            let mut cycles = 0_u64;
            while !stage.stop.load(Ordering::Relaxed) || cycles == 0 {
                cycle.run(producer, &mut phases)?;
                cycles += 1;
            }
            phases.report(&stage.allocations, &stage.frees, &plan.clock);
            Ok(())
        });
    }
    attempt(&mut seat, |producer| cycle.end(producer));
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

    #[inline(always)]
    fn live(&mut self, _change: i64) {}
}

impl Phases {
    /// Adds to the totals, less what reading the clock cost.
    fn report(&self, allocations: &Total, frees: &Total, clock: &Clock) {
        let net = |ns: u64, phases: u64| ns.saturating_sub((phases as f64 * clock.cost_ns) as u64);
        allocations.add(net(self.alloc_ns, self.alloc_phases), self.allocations);
        frees.add(net(self.free_ns, self.free_phases), self.frees);
    }
}
