//! The benchmarks of Warena: the same workloads, heaps and figures on every host.
//!
//! ```text
//!   bin/native.rs ─┐                         ┌─ warena.rs  full, spill-only, no-batch, no-caches
//!                  ├─ suite.rs ─ contender.rs ┼─ limit.rs   the least that a heap can do, front.rs
//!   wasm.rs ───────┘    │    │         │      ├─ global.rs  what the platform comes with, peers/
//!   (host/*.mjs)        │  cell.rs     │      └─ foreign.rs heaps of another module or script
//!         tables.rs ────┤        measure.rs ─ workload/, run by the producers of crew.rs
//!         table.rs    row.rs
//! ```
//!
//! A [`heap::Heap`] is compiled into the measured loop (everything here is generic over it), so
//! what can be inlined is. Each round of a cell has a fresh heap, and the heaps take turns round
//! by round (A B C A B C), so that whatever the machine does meanwhile happens to all of them.
//!
//! A round fails, and with it the whole run, when an object does not carry the stamp of the
//! producer that allocated it, when a list has lost or gained objects, when a heap refuses a
//! free, or when at the end anything is still allocated.

pub mod absence;
pub mod cell;
pub mod clock;
pub mod contender;
pub mod crew;
pub mod figure;
#[cfg(target_family = "wasm")]
pub mod foreign;
pub mod front;
pub mod global;
pub mod heap;
pub mod limit;
pub mod measure;
pub mod object;
pub mod options;
pub mod peers;
pub mod record;
#[cfg(all(feature = "report", not(target_family = "wasm")))]
pub mod report;
pub mod row;
#[cfg(target_family = "wasm")]
pub mod seat;
pub mod sizes;
pub mod suite;
pub mod table;
pub mod tables;
pub mod trace;
pub mod warena;
#[cfg(target_family = "wasm")]
pub mod wasm;
pub mod workload;
