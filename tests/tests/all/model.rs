//! Random calls of one to four workers against a naive oracle, under random settings, in a memory
//! so small that it runs out.
//!
//! What is known after every call, and checked:
//!
//! 1. No two live objects overlap, each is aligned to its block, and its bytes are as written.
//! 2. A cache gives back the very object that was freed last, a transfer cache the very batch
//!    ([`caches`] predicts them).
//! 3. A bad free is refused with the error that names the pointer, and changes no figure.
//! 4. Bytes allocated, cached and in transfer are what the oracle counts; all figures add up.
//! 5. Out of memory is only said when no block of the size is free, and growth was refused.
//! 6. `verify()` finds nothing, every few calls and at the end; after everything is freed and
//!    returned, all is coalesced.
//!
//! A failure shrinks to the shortest script that shows it; its `Debug` is that script.

mod caches;
mod oracle;

use oracle::Model;
use proptest::collection::vec;
use proptest::prelude::*;
use warena::{Config, MAX_BLOCK_BYTES, MAX_CACHED_ORDERS, MAX_CAPACITY};
use warena_tests::{CountedSource, arena, soak};

/// Scripts run.
const SCRIPTS: usize = 400;
/// Calls of a script at most.
const CALLS: usize = 250;
/// Calls from one `verify()` to the next.
const CALLS_A_PROOF: usize = 20;
const LARGEST: usize = MAX_BLOCK_BYTES as usize;

/// One call. `worker` and `object` choose among those that there are at that moment.
#[derive(Clone, Debug)]
enum Call {
    Alloc {
        worker: usize,
        size: usize,
    },
    AllocBulk {
        worker: usize,
        size: usize,
        n_order: u32,
    },
    Free {
        worker: usize,
        object: usize,
    },
    FreeBulk {
        worker: usize,
        first: usize,
        count: usize,
        twice: bool,
    },
    FreeBad {
        worker: usize,
        object: usize,
        bad: Bad,
    },
    Flush {
        worker: usize,
    },
    Attach,
    Detach {
        worker: usize,
    },
}

/// What is wrong with a pointer.
#[derive(Clone, Copy, Debug)]
enum Bad {
    /// An object that was freed before.
    Freed,
    /// Inside a live object, at this share of its block in 256ths.
    Interior(u8),
    /// At a live object's start, and so many bytes on.
    Unaligned(usize),
    /// Somewhere in the memory.
    Anywhere(u32),
    Null,
}

fn sizes() -> impl Strategy<Value = usize> {
    prop_oneof![
        8 => 1_usize..=64,
        4 => (0_u32..=15, 0_usize..=2).prop_map(|(order, less)| (16 << order) - less),
        4 => 1_usize..=4096,
        2 => 1_usize..=LARGEST,
        1 => prop_oneof![Just(0), Just(0xfff0_0001), Just(1 << 32), Just(usize::MAX)],
    ]
}

fn calls() -> impl Strategy<Value = Call> {
    let worker = || 0_usize..4;
    let object = || any::<prop::sample::Index>().prop_map(|index| index.index(1 << 16));
    let bad = prop_oneof![
        4 => Just(Bad::Freed),
        2 => any::<u8>().prop_map(Bad::Interior),
        1 => (1_usize..16).prop_map(Bad::Unaligned),
        2 => any::<u32>().prop_map(Bad::Anywhere),
        1 => Just(Bad::Null),
    ];
    prop_oneof![
        40 => (worker(), sizes()).prop_map(|(worker, size)| Call::Alloc { worker, size }),
        6 => (worker(), sizes(), 0_u32..=7).prop_map(|(worker, size, n_order)| {
            Call::AllocBulk { worker, size, n_order }
        }),
        34 => (worker(), object()).prop_map(|(worker, object)| Call::Free { worker, object }),
        6 => (worker(), object(), 0_usize..100, any::<bool>()).prop_map(
            |(worker, first, count, twice)| Call::FreeBulk { worker, first, count, twice }
        ),
        10 => (worker(), object(), bad).prop_map(|(worker, object, bad)| {
            Call::FreeBad { worker, object, bad }
        }),
        3 => worker().prop_map(|worker| Call::Flush { worker }),
        3 => Just(Call::Attach),
        2 => worker().prop_map(|worker| Call::Detach { worker }),
    ]
}

fn configs() -> impl Strategy<Value = Config> {
    let capacity = prop_oneof![3 => 1_u32..=32, 1 => 1_u32..=MAX_CAPACITY];
    let batch = capacity.prop_flat_map(|capacity| (Just(capacity), 1..=capacity));
    let transfer = batch.prop_flat_map(|(capacity, batch)| {
        let transfer_capacity = prop_oneof![1 => Just(0), 3 => batch..=4 * batch];
        (Just(capacity), Just(batch), transfer_capacity)
    });
    (0..=MAX_CACHED_ORDERS, transfer, 1_u32..=4).prop_map(
        |(cached_orders, (capacity, batch, transfer_capacity), max_workers)| Config {
            cached_orders,
            capacity,
            batch,
            transfer_capacity,
            max_workers,
            ..Config::DEFAULT
        },
    )
}

fn run(config: Config, chunks: u64, script: &[Call]) {
    let source = CountedSource::new((chunks + 1) << 20);
    {
        let arena = arena(&source, config);
        let mut model = Model::new(&arena, &source, config);
        model.attach();
        for (index, call) in script.iter().enumerate() {
            model.make(call);
            model.check();
            if index % CALLS_A_PROOF == 0 {
                model.prove();
            }
        }
        model.prove();
        model.end();
        // SAFETY: nothing is attached or allocated.
        unsafe { arena.destroy() }.unwrap();
    }
    assert_eq!(source.held(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: soak(SCRIPTS) as u32,
        // The shrunk script is printed; it says more than a seed.
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_script_agrees_with_the_oracle(
        config in configs(),
        chunks in 1_u64..=5,
        script in vec(calls(), 0..CALLS),
    ) {
        run(config, chunks, &script);
    }
}
