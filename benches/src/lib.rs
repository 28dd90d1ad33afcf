//! The benchmarks of Warena: the same workloads, heaps and figures on every host.
//!
//! ```text
//!   bin/native.rs ─┐                        ┌─ warena.rs   full, spill-only, no-caches
//!                  ├─ suite.rs ─ measure.rs ┼─ limit.rs    the least that a heap can do
//!   wasm.rs ───────┘     │ chunks.rs │      └─ system.rs   what the platform comes with
//!   (node/*.mjs)         │           └──────── workload.rs, run by the producers of crew.rs
//!                        └─ row.rs, table.rs
//! ```
//!
//! A [`heap::Heap`] is compiled into the measured loop (everything here is generic over it), so
//! what can be inlined is. Each round of a cell has a fresh heap, and the heaps take turns round
//! by round (A B C A B C), so that whatever the machine does meanwhile happens to all of them.
//!
//! A round fails, and with it the whole run, when an object does not carry the stamp of the
//! producer that allocated it, when a list has lost or gained objects, when a heap refuses a
//! free, or when at the end anything is still allocated.

pub mod chunks;
pub mod clock;
pub mod contender;
pub mod crew;
pub mod heap;
pub mod limit;
pub mod measure;
pub mod options;
pub mod row;
pub mod suite;
pub mod system;
pub mod table;
pub mod warena;
#[cfg(target_family = "wasm")]
pub mod wasm;
pub mod workload;
