//! The heaps of others. Each is used through Rust's `GlobalAlloc`, and none is the program's global
//! allocator. Only the benchmarks' own builds have them: features `peers`, `mimalloc-v2` and
//! `mimalloc-v3`.
//!
//! | host | module | heaps |
//! | --- | --- | --- |
//! | native | `native` | mimalloc, snmalloc, jemalloc, rpmalloc, tcmalloc |
//! | WebAssembly | `wasm` | dlmalloc, talc, lol_alloc, rlsf, buddy_system_allocator |
//! | WebAssembly | `mimalloc` | mimalloc's C code: version 2 or 3, as their symbols are the same |

#[cfg(all(feature = "mimalloc", target_family = "wasm"))]
mod mimalloc;
#[cfg(all(feature = "peers", not(target_family = "wasm")))]
mod native;
#[cfg(all(feature = "peers", target_family = "wasm"))]
mod wasm;

use crate::contender::Contender;

/// All of this build.
pub fn all() -> Vec<Contender<'static>> {
    #[cfg(all(feature = "mimalloc", target_family = "wasm"))]
    return vec![mimalloc::contender()];
    #[cfg(all(feature = "peers", not(target_family = "wasm")))]
    return native::all();
    #[cfg(all(feature = "peers", not(feature = "mimalloc"), target_family = "wasm"))]
    return wasm::all();
    #[cfg(not(any(feature = "peers", all(feature = "mimalloc", target_family = "wasm"))))]
    return Vec::new();
}
