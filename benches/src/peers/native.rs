//! Native peers: C and C++ allocators, by the crates that bring and build them.

use std::alloc::GlobalAlloc;

use crate::contender::Contender;
use crate::global::Global;
use crate::measure::round;

/// All of them.
pub fn all() -> Vec<Contender<'static>> {
    let mut all = vec![
        peer("mimalloc", || mimalloc_rust::MiMalloc),
        peer("snmalloc", || snmalloc_rs::SnMalloc),
        peer("jemalloc", || tikv_jemallocator::Jemalloc),
        peer("rpmalloc", || rpmalloc::RpMalloc),
    ];
    // Its crate builds it for Linux alone.
    #[cfg(target_os = "linux")]
    all.push(peer("tcmalloc", || tcmalloc_better::TCMalloc));
    all
}

/// All their state is the process's: what a round left behind, the next one finds.
fn peer<A: GlobalAlloc + Sync + 'static>(name: &str, make: fn() -> A) -> Contender<'static> {
    Contender::peer(name, move |crew, cell, plan| {
        round(crew, Global::new(make()), cell, plan)
    })
}
