//! Warena: a memory allocator for WebAssembly linear memory that many workers share.
//!
//! ```
//! use warena::{Arena, Config, Context, MappedMemory};
//!
//! let memory = MappedMemory::new(64 << 20)?;
//! let arena = Arena::create(&memory, Config::DEFAULT, Context::MayWait)?;
//! let worker = arena.attach()?;
//! let object = worker.alloc(100)?;
//! worker.free(object.as_ptr())?;
//! # drop(worker);
//! # assert_eq!(arena.verify()?.allocated_objects, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layers
//!
//! Each depends only on those below it.
//!
//! | layer | modules | what it is |
//! | --- | --- | --- |
//! | program | `Global` | a program's heap, a seat for each thread |
//! | handles | [`Arena`], [`Worker`] | every public call |
//! | whole | `header`, `stats`, `verify`, `check`, `reap`, `layout` | the root of an arena, and what is read of it |
//! | front | `cache` | a slot's stacks, the transfer caches |
//! | central | `heap` | chunks, block maps, free lists, the buddy system |
//! | source | [`ChunkSource`] | `memory.grow`, native mappings |
//! | ground | `order`, `memory`, `agent`, `lock`, `sync`, `config`, `error` | arithmetic, addresses, atomics |
//!
//! # Size
//!
//! On wasm code is downloaded. What runs once, or beside which a lock or a chunk costs far more, is
//! built for size even where all else is built for speed: `optimize(size)`, which the toolchains that
//! build threads have.
#![no_std]
#![cfg_attr(
    all(target_family = "wasm", target_feature = "atomics"),
    feature(optimize_attribute, stdarch_wasm_atomic_wait, thread_local)
)]

mod agent;
mod arena;
mod cache;
mod check;
mod config;
mod damage;
mod death;
mod error;
#[cfg(not(loom))]
mod global;
mod header;
mod heap;
mod layout;
mod lock;
mod memory;
mod order;
mod order_stats;
mod reap;
mod slot_stats;
mod snapshot;
mod source;
mod stats;
mod sync;
#[cfg(all(target_family = "wasm", target_feature = "atomics", not(loom)))]
mod thread_word;
mod verify;
mod violation;
mod worker;

pub use agent::agent_number;
#[cfg(all(target_family = "wasm", target_feature = "atomics"))]
pub use agent::{AgentWords, become_agent, has_thread_local_data};
pub use arena::Arena;
pub use check::CheckError;
pub use config::{
    Config, MAX_BURST_BYTES, MAX_BURST_CAPACITY, MAX_CACHED_ORDERS, MAX_CAPACITY, MAX_QUARANTINE,
    MAX_TRANSFER_CAPACITY, MAX_WORKERS,
};
pub use damage::{Damage, DamageKind};
#[cfg(all(feature = "death", not(target_family = "wasm")))]
pub use death::{Death, die_at};
#[cfg(all(feature = "death", target_family = "wasm"))]
pub use death::{GO_ON, STALLED, STARTING_WRITES, die_at, waits, writes_left};
pub use error::{
    AllocError, ArenaError, AttachError, Busy, ConfigError, FreeError, ReallocError, ReapError,
};
#[cfg(not(loom))]
pub use global::Global;
pub use header::LAYOUT_VERSION;
pub use heap::block::{BlockState, block_extent, block_state};
pub use heap::extent::Extent;
pub use layout::Layout;
pub use lock::Context;
pub use memory::Memory;
pub use order::{CHUNK_BYTES, MAX_BLOCK_BYTES, MAX_ORDER, UNIT_BYTES, order_of};
pub use order_stats::OrderStats;
pub use reap::Reaped;
pub use slot_stats::SlotStats;
pub use snapshot::SeenBlock;
#[cfg(not(target_family = "wasm"))]
pub use source::MappedMemory;
#[cfg(target_family = "wasm")]
pub use source::WasmMemory;
pub use source::{ChunkRun, ChunkSource};
pub use stats::{Rounding, Stats};
pub use violation::{Verification, Violation};
pub use worker::Worker;
