//! Random scripts for the model ([`warena_tests::model`] says what is checked), drawn and shrunk by
//! proptest: a failure prints the shortest script that shows it.

use proptest::collection::vec;
use proptest::prelude::*;
use warena::{Config, MAX_BLOCK_BYTES, MAX_BURST_CAPACITY, MAX_CACHED_ORDERS, MAX_CAPACITY};
use warena_tests::model::{Bad, Call, How, Script};
use warena_tests::soak;

/// Scripts run.
const SCRIPTS: usize = 400;
/// Calls of a script at most.
const CALLS: usize = 250;
const LARGEST: usize = MAX_BLOCK_BYTES as usize;

fn sizes() -> impl Strategy<Value = usize> {
    prop_oneof![
        8 => 1_usize..=64,
        4 => (0_u32..=16, 0_usize..=2).prop_map(|(order, less)| (16 << order) - less),
        4 => 1_usize..=4096,
        2 => 1_usize..=LARGEST,
        1 => LARGEST + 1..=4 << 20,
        1 => prop_oneof![Just(0), Just(0xfff0_0000), Just(0xfff0_0001), Just(1 << 32), Just(usize::MAX)],
    ]
}

fn hows() -> impl Strategy<Value = How> {
    prop_oneof![
        6 => Just(How::Plain),
        2 => Just(How::Zeroed),
        2 => (0_u32..=21).prop_map(How::Aligned),
        2 => Just(How::NoGrow),
        2 => Just(How::NoWait),
    ]
}

fn calls() -> impl Strategy<Value = Call> {
    let worker = || 0_usize..4;
    let object = || any::<prop::sample::Index>().prop_map(|index| index.index(1 << 16));
    let bad = prop_oneof![
        4 => Just(Bad::Freed),
        2 => any::<u8>().prop_map(Bad::Interior),
        1 => (1_usize..16).prop_map(Bad::Unaligned),
        1 => any::<u32>().prop_map(Bad::Anywhere),
        2 => (0_u32..8 << 20).prop_map(Bad::Anywhere),
        1 => Just(Bad::Null),
    ];
    prop_oneof![
        40 => (worker(), sizes(), hows()).prop_map(|(worker, size, how)| {
            Call::Alloc { worker, size, how }
        }),
        6 => (worker(), sizes(), 0_u32..=7, any::<bool>()).prop_map(
            |(worker, size, n_order, grow)| Call::AllocBulk { worker, size, n_order, grow }
        ),
        30 => (worker(), object(), any::<bool>()).prop_map(|(worker, object, nowait)| {
            Call::Free { worker, object, nowait }
        }),
        6 => (worker(), object(), 0_usize..100, any::<bool>()).prop_map(
            |(worker, first, count, twice)| Call::FreeBulk { worker, first, count, twice }
        ),
        10 => (worker(), object(), bad).prop_map(|(worker, object, bad)| {
            Call::FreeBad { worker, object, bad }
        }),
        10 => (worker(), object(), sizes()).prop_map(|(worker, object, size)| {
            Call::Realloc { worker, object, size }
        }),
        3 => (worker(), sizes(), 0_usize..40).prop_map(|(worker, size, count)| {
            Call::Reserve { worker, size, count }
        }),
        3 => worker().prop_map(|worker| Call::Flush { worker }),
        2 => (0_u32..4).prop_map(|count| Call::Grow { count }),
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
    let max_chunks = prop_oneof![2 => Just(4096), 1 => 1_u32..=8];
    // Without a quarantine, objects take the same ways in checking mode as outside of it.
    let checking = any::<bool>();
    // Mostly not much more than usual, so that a short script meets the end of it.
    let burst = prop_oneof![1 => Just(1), 2 => 1_u32..=4, 1 => Just(MAX_BURST_CAPACITY)];
    (
        0..=MAX_CACHED_ORDERS,
        transfer,
        burst,
        1_u32..=4,
        max_chunks,
        checking,
    )
        .prop_map(
            |(
                cached_orders,
                (capacity, batch, transfer_capacity),
                burst,
                max_workers,
                max_chunks,
                checking,
            )| Config {
                cached_orders,
                capacity,
                batch,
                transfer_capacity,
                max_workers,
                max_chunks,
                checking,
                quarantine: 0,
                burst_capacity: (capacity * burst).min(MAX_BURST_CAPACITY),
            },
        )
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
        chunks in 1_u64..=7,
        calls in vec(calls(), 0..CALLS),
    ) {
        Script { config, chunks, calls }.run();
    }

    #[test]
    fn any_bytes_are_a_script_that_agrees_with_the_oracle(
        bytes in vec(any::<u8>(), 0..1200),
    ) {
        Script::from_bytes(&bytes).run();
    }
}
