//! What the tests of Warena share: stamped objects, a naive oracle, observed chunk sources, the
//! recorded traces, and the proof that every test ends with.
//!
//! The tests themselves are in `tests/all`, one topic a file, in one binary: a release build
//! links with full LTO, once instead of eight times.
//!
//! # How long they run
//!
//! | command | takes |
//! | --- | --- |
//! | `cargo test --release -p warena-tests` | half a minute on two cores |
//! | `cargo test --release -p warena-tests --features death --test death` | a minute: workers that end before every write that they do |
//! | the first or second with `WARENA_SOAK=N` in the environment | N times the rounds of every test that counts rounds, and N times the scripts of the model |
//! | `cargo run --release -p warena-tests --bin soak -- 1_000_000_000` | minutes: so many random operations on one thread, and as many on four |
//! | `cargo xtask test tsan` | three minutes at first, one and a half later: the threads' tests under ThreadSanitizer |
//! | `cargo xtask test fuzz` | a minute and the build: the model on a fuzzer's scripts |

/// The README's example, compiled and run as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

mod exchange;
pub mod model;
mod object;
mod oracle;
mod proof;
mod rng;
mod source;
mod trace;

pub use exchange::Exchange;
pub use object::{Extent, Object};
pub use oracle::Intervals;
pub use proof::{FREE_BLOCKS_OF_A_CHUNK, block_at, free_blocks, prove, prove_idle};
pub use rng::Rng;
pub use source::{CountedSource, GatedSource};
pub use trace::{Operation, TRACES, Trace, TraceStep};

use warena::{
    Arena, CHUNK_BYTES, ChunkSource, Config, Context, MAX_BLOCK_BYTES, UNIT_BYTES, order_of,
};

/// `rounds`, times the environment variable `WARENA_SOAK`.
pub fn soak(rounds: usize) -> usize {
    rounds * factor()
}

fn factor() -> usize {
    match std::env::var("WARENA_SOAK") {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("WARENA_SOAK is {text:?}; it must be a whole number")),
        Err(_) => 1,
    }
}

/// Bytes of the smallest whole block that holds `size` bytes, by which the one that serves them is
/// aligned up to 1 MiB: of whole chunks where it is huge.
pub fn whole_bytes(size: usize) -> usize {
    if size > MAX_BLOCK_BYTES as usize {
        return size.next_multiple_of(CHUNK_BYTES as usize);
    }
    (UNIT_BYTES as usize) << order_of(size as u32)
}

/// Bytes of the block that serves a request of `size` bytes in an arena of the default settings.
pub fn block_bytes(size: usize) -> usize {
    let whole = whole_bytes(size);
    if size > MAX_BLOCK_BYTES as usize {
        return whole;
    }
    // Above 4 KiB five and six eighths of a block are a block too.
    let cut = [whole * 5 / 8, whole * 6 / 8];
    let fits = cut
        .into_iter()
        .find(|&bytes| size > 4096 && size <= bytes && size > whole / 2);
    fits.unwrap_or(whole)
}

/// The same where checking mode, or a cache of that order, serves whole blocks only.
pub fn block_bytes_of(config: &Config, size: usize) -> usize {
    let is_block = (1..=MAX_BLOCK_BYTES as usize).contains(&size);
    if is_block && (config.checking || order_of(size as u32) < config.cached_orders) {
        return whole_bytes(size);
    }
    block_bytes(size)
}

/// An arena on `source`, made by an agent that may wait.
pub fn arena<S: ChunkSource>(source: S, config: Config) -> Arena<S> {
    Arena::create(source, config, Context::MayWait).expect("the source has a first chunk")
}

/// `arena` as an agent sees it that may not wait.
pub fn hurried<'a, S: ChunkSource>(source: &'a S, arena: &Arena<&S>) -> Arena<&'a S> {
    // SAFETY: the address is that of a live arena on this source.
    unsafe { Arena::open(source, arena.address(), Context::NoWait) }.expect("a live arena")
}

/// The default, but that a cache never holds more than its capacity: the seeds' figures, to the object.
pub const NARROW: Config = Config {
    burst_capacity: Config::DEFAULT.capacity,
    ..Config::DEFAULT
};

/// The settings that every concurrent test runs under, by name: the default, both ablations, and
/// corners where each boundary is met all the time.
pub const CONFIGS: [(&str, Config); 6] = [
    ("full", Config::DEFAULT),
    ("spill-only", Config::SPILL_ONLY),
    ("no-caches", Config::NO_CACHES),
    (
        "no-batch",
        Config {
            batch: 1,
            ..Config::DEFAULT
        },
    ),
    (
        "one of everything",
        Config {
            cached_orders: 12,
            capacity: 1,
            batch: 1,
            transfer_capacity: 1,
            max_workers: 16,
            ..Config::DEFAULT
        },
    ),
    (
        "odd sizes",
        Config {
            cached_orders: 5,
            capacity: 7,
            batch: 3,
            transfer_capacity: 10,
            max_workers: 16,
            ..Config::DEFAULT
        },
    ),
];
