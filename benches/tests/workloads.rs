//! Every workload with every heap for a moment, and proof that a heap that is wrong is found out.

use std::ptr::NonNull;
use std::time::Duration;

use anyhow::Result;
use warena::Config;
use warena_benches::clock::Clock;
use warena_benches::contender;
use warena_benches::crew::{Crew, with_threads};
use warena_benches::heap::{Heap, Producer};
use warena_benches::measure::{Cell, Plan, Sample, round};
use warena_benches::options::Options;
use warena_benches::row::json;
use warena_benches::suite::{self, Host};
use warena_benches::warena::Warena;
use warena_benches::workload::Workload;

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
        producers: vec![1, 3],
        allocs: vec![1, 300],
        rounds: 2,
        chunks: Vec::new(),
        length: Duration::from_millis(2),
        ..Options::full()
    }
}

#[test]
fn every_workload_runs_with_every_heap() {
    let options = options();
    let printed = std::cell::RefCell::new(String::new());
    let host = Host {
        name: "native",
        cores: 2,
        print: &|text| printed.borrow_mut().push_str(text),
    };
    let rows = with_threads(options.crew(), |crew| suite::run(&options, &host, crew)).unwrap();
    assert_eq!(rows.len(), 2 * 2 * 2 * contender::ALL.len());
    for row in &rows {
        assert!(row.pair_ns > 0.0 && row.ops > 0, "{row:?}");
        assert!(row.cpu_ns_per_pair.is_some(), "{row:?}");
    }
    let printed = printed.into_inner();
    for expected in ["2 processors", "malloc-xfree, 64 B, CPU time", "3 prod"] {
        assert!(printed.contains(expected), "{expected}: {printed}");
    }
}

#[test]
fn rows_are_json_as_the_contract_says() {
    let options = Options {
        workloads: vec![Workload::MallocFree],
        producers: vec![1],
        allocs: vec![1],
        ..options()
    };
    let host = Host {
        name: "native",
        cores: 2,
        print: &|_| {},
    };
    let rows = with_threads(1, |crew| suite::run(&options, &host, crew)).unwrap();
    let parsed: serde_json::Value = serde_json::from_str(&json(&rows).unwrap()).unwrap();
    let limit = &parsed[3];
    assert_eq!(limit["allocator"], "limit");
    assert!(limit["config"].is_null());
    // One allocation is too short for any clock.
    assert!(limit["alloc_ns"].is_null() && limit["free_ns"].is_null());
    assert!(limit["pair_ns"].is_number());
    let first = json(&rows).unwrap();
    let keys: Vec<&str> = first
        .lines()
        .nth(1)
        .unwrap()
        .split(',')
        .filter_map(|field| field.split('"').nth(1))
        .collect();
    let expected = "bench allocator config host producers allocs size alloc_ns free_ns pair_ns \
                    cpu_ns_per_pair ops";
    assert_eq!(keys, expected.split(' ').collect::<Vec<_>>());
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

    fn finish(self) -> Result<()> {
        self.0.finish()
    }
}

impl<P: Producer> Producer for FaultyProducer<P> {
    fn alloc(&mut self, size: usize) -> Option<NonNull<u8>> {
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
        self.last = self.inner.alloc(size);
        self.last
    }

    unsafe fn free(&mut self, object: NonNull<u8>, size: usize) -> bool {
        match self.fault {
            Fault::Leaks | Fault::Repeats => true,
            Fault::Refuses => false,
            // SAFETY: the caller's promise, passed on.
            _ => unsafe { self.inner.free(object, size) },
        }
    }

    fn leave(self) -> Result<()> {
        self.inner.leave()
    }
}

fn fails(crew: &Crew, fault: Fault, workload: Workload) -> String {
    let cell = Cell {
        workload,
        producers: 2,
        allocs: 4,
        size: 64,
        chunks: None,
    };
    // One round is left to run the heap full: less than its memory holds in that time.
    let plan = Plan {
        length: Duration::from_micros(100),
        ..moment()
    };
    let heap = Faulty(Warena::new(Config::DEFAULT).unwrap(), fault);
    let sample: Result<Sample> = round(crew, heap, &cell, &plan);
    sample.unwrap_err().to_string()
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
        for workload in Workload::ALL {
            for (fault, expected) in faults {
                let message = fails(crew, fault, workload);
                assert!(message.contains(expected), "{workload:?}: {message}");
            }
        }
    });
}

#[test]
fn full_chunks_are_counted_in_their_rows() {
    let options = Options {
        workloads: Vec::new(),
        chunks: vec![1, 3],
        ..options()
    };
    let printed = std::cell::RefCell::new(String::new());
    let host = Host {
        name: "native",
        cores: 2,
        print: &|text| printed.borrow_mut().push_str(text),
    };
    let rows = with_threads(1, |crew| suite::run(&options, &host, crew)).unwrap();
    let chunks: Vec<_> = rows.iter().map(|row| row.chunks).collect();
    assert_eq!(chunks, [[Some(1); 3], [Some(3); 3]].concat());
    assert!(
        rows.iter()
            .all(|row| row.bench == "chunks" && row.pair_ns > 0.0)
    );
    assert!(json(&rows).unwrap().contains("\"chunks\":3"));
    assert!(printed.into_inner().contains("no-caches   1: "));
}
