//! talc behind its own wrapper and the lock that its documentation uses. It grows as its source for
//! locked use in WebAssembly does, a heap for each run of pages, with pages that are counted.

use std::alloc::Layout;

use ::talc::base::Talc;
use ::talc::base::binning::Binning;
use ::talc::source::Source;
use ::talc::wasm::WasmBinning;
use spinning_top::RawSpinlock;

use super::pages::{PAGE, Pages};

/// The heap.
pub type TalcLock = ::talc::sync::TalcLock<RawSpinlock, Grow, WasmBinning>;

/// What it needs of a run besides the object.
const OVERHEAD: usize = 128;

/// A fresh heap.
pub fn new() -> TalcLock {
    TalcLock::new(Grow(Pages::new()))
}

/// Bytes that it has had from the memory.
pub fn grown(heap: &TalcLock) -> u64 {
    heap.lock().source.0.bytes()
}

/// Where it has its memory from.
#[derive(Debug)]
pub struct Grow(Pages);

// SAFETY: pages come from no allocator. The list of runs does, but not from this one.
unsafe impl Source for Grow {
    fn acquire<B: Binning>(talc: &mut Talc<Self, B>, layout: Layout) -> Result<(), ()> {
        let bytes = layout.size() + layout.align() + OVERHEAD;
        let run = talc.source.0.take(bytes, PAGE).ok_or(())?;
        // SAFETY: the pages are this heap's until it is dropped.
        let end = unsafe { talc.claim(run.start as *mut u8, run.bytes) };
        end.map(|_| ()).ok_or(())
    }
}
