//! The bindings behind the npm package `warena`: what its TypeScript calls in the module.
//!
//! Thin on purpose. Nothing is decided here: each function finds the core's handle by an address
//! that the package keeps, makes one call, and turns the answer into integers. What does not fit into
//! one is left in memory.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`agents`] | the agents of this memory: who is started, and whose turn it is |
//! | [`arenas`] | the arenas of this memory |
//! | [`answer`] | what a call has to say besides an integer |
//! | [`arena`] | make an arena and grow it, take and give up a seat, figures, proof |
//! | [`object`] | allocate, resize, free one object; ask about one |
//! | [`bulk`] | allocate and free many at once |
//! | [`c`] | C's names, for other modules on this memory |
//! | `death` | for tests, in builds with that feature: agents that stand still at any of their writes |
//! | [`reap`] | take in what an agent that has ended left |
//! | [`refusal`] | why a call was refused, as JavaScript sees it |
//! | [`facts`] | what the package's build records: layout, states, defaults |
//! | [`heap`] | the module's own heap, and an agent's seat in it |
//! | [`thread`] | what an agent needs once: the panic hook, the memory's identity |
//!
//! Natively this crate is empty: it has no memory to allocate from.
#![cfg(target_family = "wasm")]

#[cfg(not(target_feature = "atomics"))]
compile_error!(
    "the bindings need the threads build: cargo --config .cargo/threads.toml, as `cargo xtask pack` does"
);

pub mod agents;
pub mod answer;
pub mod arena;
pub mod arenas;
pub mod bulk;
pub mod c;
#[cfg(feature = "death")]
pub mod death;
pub mod facts;
pub mod heap;
pub mod object;
pub mod reap;
pub mod refusal;
pub mod thread;
