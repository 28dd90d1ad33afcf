//! Peers in WebAssembly that are Rust code, all in one module on one memory.
//!
//! dlmalloc is measured as everybody has it, as the standard library's `System`. That one cannot
//! tell what it has grown, so traces, which are about that, are replayed on the same code from its
//! crate, with pages of its own.

mod buddy;
mod dlmalloc;
mod lol;
mod pages;
mod rlsf;
mod spin;
mod talc;

use std::alloc::GlobalAlloc;

use crate::cell::Bench;
use crate::contender::Contender;
use crate::global::{Global, SYSTEM};
use crate::measure::round;

/// All of them.
pub fn all() -> Vec<Contender<'static>> {
    vec![
        Contender {
            fits: |_, cell| cell.bench == Bench::Trace,
            ..peer(SYSTEM, dlmalloc::new, |heap| Some(heap.grown()))
        },
        peer("talc", talc::new, |heap| Some(talc::grown(heap))),
        peer("lol_alloc", || lol::Shared, |_| None),
        peer("rlsf", rlsf::new, |heap| Some(heap.grown())),
        peer("buddy_system_allocator", buddy::new, |heap| {
            Some(heap.grown())
        }),
    ]
}

fn peer<A: GlobalAlloc + Sync + 'static>(
    name: &str,
    make: fn() -> A,
    grown: fn(&A) -> Option<u64>,
) -> Contender<'static> {
    Contender::peer(name, move |crew, cell, plan| {
        round(crew, Global::counted(make(), grown), cell, plan)
    })
}
