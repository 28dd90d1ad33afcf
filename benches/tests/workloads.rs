//! Every workload with every heap for a moment, and proof that a heap that is wrong is found out.

use std::alloc::Layout;
use std::cell::RefCell;
use std::ptr::NonNull;
use std::time::Duration;

use anyhow::Result;
use warena::Config;
use warena_benches::cell::{Bench, Cell};
use warena_benches::clock::Clock;
use warena_benches::contender;
use warena_benches::crew::{Crew, with_threads};
use warena_benches::heap::{Heap, Producer};
use warena_benches::measure::{Plan, Sample, round};
use warena_benches::options::Options;
use warena_benches::row::{Row, json};
use warena_benches::sizes::Sizes;
use warena_benches::suite::{self, Host};
use warena_benches::warena::Warena;

/// So that the front which is about it takes part.
#[global_allocator]
static HEAP: warena::Global = warena::Global::new();

fn moment() -> Plan {
    Plan {
        length: Duration::from_millis(2),
        warm_up: Duration::ZERO,
        clock: Clock::calibrate(),
        cores: 2,
    }
}

fn options() -> Options {
    Options {
        // This is not optimised: a round may be slow.
        budget: Duration::from_secs(60),
        ..Options::moment()
    }
}

/// The rows of a run, and what it printed.
fn run(options: &Options) -> (Vec<Row>, String) {
    let printed = RefCell::new(String::new());
    let host = Host {
        name: "native",
        cores: 2,
        print: &|text| printed.borrow_mut().push_str(text),
    };
    let rows = with_threads(options.crew(), |crew| {
        suite::run(options, &host, crew, Vec::new())
    });
    (rows.unwrap(), printed.into_inner())
}

#[test]
fn every_workload_runs_with_every_heap() {
    let options = options();
    let (rows, printed) = run(&options);
    let heaps = contender::all();
    for bench in Bench::ALL {
        for cell in bench.groups(&options).into_iter().flatten() {
            let expected = heaps.iter().filter(|heap| heap.fits(&cell)).count();
            assert!(expected > 0, "{cell:?}");
            let found = rows.iter().filter(|row| {
                row.bench == bench.name()
                    && (row.producers, row.allocs) == (cell.producers, cell.allocs)
                    && (row.chunks, row.trace.as_deref()) == (cell.chunks, cell.trace_name())
            });
            assert_eq!(found.count(), expected, "{cell:?}");
        }
    }
    for row in &rows {
        assert!(row.pair_ns > 0.0 && row.ops > 0, "{row:?}");
        assert!(row.cpu_ns_per_pair.is_some(), "{row:?}");
    }
    for expected in [
        "2 processors",
        "malloc-xfree, 64 B: CPU time",
        "3 prod",
        "larson, mixed sizes up to 2048 B, producers 3: latency of a pair",
        "trace, producers 4: peak memory grown",
    ] {
        assert!(printed.contains(expected), "{expected}: {printed}");
    }
}

#[test]
fn sizes_may_be_mixed() {
    let options = Options {
        benches: vec![Bench::MallocXfree, Bench::Calloc],
        sizes: Sizes::Mixed,
        ..options()
    };
    let (rows, _) = run(&options);
    let mixed = |row: &Row| row.sizes.as_deref() == Some("mixed") && row.size == 2048;
    assert!(rows.iter().all(mixed), "{rows:?}");
}

#[test]
fn a_trace_counts_what_was_asked_for() {
    let options = Options {
        benches: vec![Bench::Trace],
        ..options()
    };
    let (rows, _) = run(&options);
    // The most that the trace has live, by its own header; what was asked for at sizes of 0 is 1.
    let alone = rows.iter().find(|row| row.producers == 1).unwrap();
    assert_eq!(alone.peak_requested, Some(689_836));
    for row in &rows {
        let copies = (row.producers * row.allocs) as u64;
        assert!(row.peak_requested.unwrap() <= copies * 689_836, "{row:?}");
        if row.allocator == "warena" {
            assert!(row.peak_grown > row.peak_requested, "{row:?}");
        }
    }
}

#[test]
fn rows_are_json_as_the_contract_says() {
    let options = Options {
        benches: vec![Bench::MallocFree],
        producers: vec![1],
        allocs: vec![1],
        ..options()
    };
    let (rows, _) = run(&options);
    let text = json(&rows).unwrap();
    let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
    let limit = &parsed[4];
    assert_eq!(limit["allocator"], "limit");
    assert!(limit["config"].is_null());
    // One allocation is too short for any clock.
    assert!(limit["alloc_ns"].is_null() && limit["free_ns"].is_null());
    assert!(limit["pair_ns"].is_number());
    let line = text.lines().nth(5).unwrap();
    let keys: Vec<&str> = line
        .split(',')
        .filter_map(|field| field.split('"').nth(1))
        .collect();
    let expected = "bench allocator config host producers allocs size alloc_ns free_ns pair_ns \
                    cpu_ns_per_pair ops rounds spread";
    let expected: Vec<&str> = expected.split(' ').collect();
    assert_eq!(keys[..expected.len()], expected);
    let back: Vec<Row> = serde_json::from_str(&text).unwrap();
    assert_eq!(back, rows);
    for row in &rows {
        let [least, most] = row.spread.pair_ns.unwrap();
        assert!(least <= row.pair_ns && row.pair_ns <= most, "{row:?}");
    }
}

#[derive(Clone, Copy)]
enum Fault {
    /// Writes into an object that it gave out.
    Scribbles,
    /// Gives one object out again and again.
    Repeats,
    /// Forgets what is freed.
    Leaks,
    /// Refuses what is freed.
    Refuses,
    /// Has no memory after a while.
    RunsDry,
}

struct Faulty(Warena, Fault);

struct FaultyProducer<P> {
    inner: P,
    fault: Fault,
    last: Option<NonNull<u8>>,
    given: u32,
}

impl Heap for Faulty {
    type Producer<'a> = FaultyProducer<<Warena as Heap>::Producer<'a>>;

    fn join(&self) -> Result<Self::Producer<'_>> {
        Ok(FaultyProducer {
            inner: self.0.join()?,
            fault: self.1,
            last: None,
            given: 0,
        })
    }

    fn peak_grown(&self) -> Option<u64> {
        None
    }

    fn finish(self) -> Result<()> {
        self.0.finish()
    }
}

impl<P: Producer> Producer for FaultyProducer<P> {
    fn alloc(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        self.given += 1;
        match (self.fault, self.last) {
            (Fault::Scribbles, Some(last)) => {
                // SAFETY: the object before has 64 bytes, and the producer is not looking.
                unsafe { last.cast::<u64>().add(1).write(0) };
            }
            (Fault::Repeats, Some(last)) => return Some(last),
            (Fault::RunsDry, _) if self.given > 1000 => return None,
            _ => {}
        }
        self.last = self.inner.alloc(layout);
        self.last
    }

    unsafe fn free(&mut self, object: NonNull<u8>, layout: Layout) -> bool {
        match self.fault {
            Fault::Leaks | Fault::Repeats => true,
            Fault::Refuses => false,
            // SAFETY: the caller's promise, passed on.
            _ => unsafe { self.inner.free(object, layout) },
        }
    }

    fn leave(self) -> Result<()> {
        self.inner.leave()
    }
}

fn fails(crew: &Crew, fault: Fault, bench: Bench) -> String {
    let cell = Cell {
        bench,
        producers: 2,
        allocs: 4,
        sizes: Sizes::Fixed(64),
        chunks: None,
        trace: (bench == Bench::Trace).then_some(1),
    };
    // One round is left to run the heap full: less than its memory holds in that time.
    let plan = Plan {
        length: Duration::from_micros(100),
        ..moment()
    };
    let heap = Faulty(Warena::new(Config::DEFAULT).unwrap(), fault);
    let sample: Result<Sample> = round(crew, heap, &cell, &plan);
    let error = sample.expect_err("a heap that is wrong passes");
    error.to_string()
}

#[test]
fn a_heap_that_is_wrong_is_found_out() {
    let faults = [
        (Fault::Scribbles, "somebody else was given the same object"),
        (Fault::Repeats, "more than the 4 objects"),
        (Fault::Leaks, "objects allocated"),
        (Fault::Refuses, "refused to free"),
        (Fault::RunsDry, "no memory for an object of 0x40 bytes"),
    ];
    with_threads(2, |crew| {
        for bench in [Bench::MallocFree, Bench::MallocXfree] {
            for (fault, expected) in faults {
                let message = fails(crew, fault, bench);
                assert!(message.contains(expected), "{bench:?}: {message}");
            }
        }
    });
}

#[test]
fn every_workload_finds_out_what_is_refused_leaked_or_given_twice() {
    with_threads(2, |crew| {
        for bench in [
            Bench::Larson,
            Bench::ReallocGrow,
            Bench::ProdCon,
            Bench::Trace,
        ] {
            for fault in [Fault::Refuses, Fault::Leaks, Fault::Repeats] {
                let message = fails(crew, fault, bench);
                assert!(!message.is_empty(), "{bench:?}");
            }
        }
    });
}

#[test]
fn full_chunks_are_counted_in_their_rows() {
    let options = Options {
        benches: vec![Bench::Chunks],
        ..options()
    };
    let (rows, printed) = run(&options);
    let chunks: Vec<_> = rows.iter().map(|row| row.chunks).collect();
    assert_eq!(chunks, [[Some(1); 4], [Some(3); 4]].concat());
    assert!(json(&rows).unwrap().contains("\"chunks\":3"));
    assert!(printed.contains("chunks, 64 B: latency of a pair"));
}

#[test]
fn a_peer_that_is_slow_has_fewer_rounds_and_its_row_says_so() {
    let options = Options {
        benches: vec![Bench::Larson],
        budget: Duration::ZERO,
        ..options()
    };
    let (rows, _) = run(&options);
    let rounds = |own: bool| {
        let of = rows.iter().filter(move |row| row.config.is_some() == own);
        of.map(|row| row.rounds).collect::<Vec<_>>()
    };
    assert_eq!(rounds(true), [2; 8]);
    // What the platform comes with, in both cells.
    assert_eq!(rounds(false), [1; 2]);
}
