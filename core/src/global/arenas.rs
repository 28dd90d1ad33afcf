//! The arenas of a program's heap: the one that serves everybody, and spare ones for allocations
//! that find it locked and may not wait.
//!
//! Who first needs an arena makes it, and publishes it by a compare-and-swap of one static word. So
//! do two agents at the same moment, each for itself; the one that comes second gives its own back.
//! Nobody ever waits for another agent to make one, so no death can wedge the others: of an agent
//! that dies on the way, one chunk is lost.
//!
//! **Ordering.** Publishing releases, looking acquires: whoever finds an arena sees all of it.

use super::Global;
use super::source::{self, Handle, Source};
use super::standing::{self, Stand};
use crate::arena::Arena;
use crate::config::{Config, MAX_WORKERS};
use crate::lock::Context;
use crate::source::ChunkSource;
use core::sync::atomic::{AtomicU32, Ordering};

/// The most there are. Each spare one stands for an agent that died in the heap's lock, or was kept
/// from running for as long as another may spin, before the lock was recovered.
pub(super) const MOST: usize = 4;

/// Addresses of the arenas' headers; 0: not made.
static HEADERS: [AtomicU32; MOST] = [const { AtomicU32::new(0) }; MOST];

/// One of the program's arenas. They are never destroyed.
#[derive(Clone, Copy)]
pub(super) struct OwnArena {
    pub(super) source: &'static Source,
    header: u32,
}

impl OwnArena {
    fn at(header: u32) -> Option<Self> {
        let source = source::made()?;
        (header != 0).then_some(Self { source, header })
    }

    /// A handle for an agent of that context.
    pub(super) fn handle(self, context: Context) -> Handle {
        Arena::known(source::handed(self.source), self.header, context)
    }

    /// Whether `pointer` lies in one of its chunks.
    pub(super) fn owns(self, pointer: *const u8) -> bool {
        let arena = self.handle(Context::NoWait);
        arena.header().owns(self.source.memory(), pointer)
    }

    /// A standing seat for one call of the calling agent; `None` if all stay taken for as long as
    /// it may spin.
    pub(super) fn stand(self, context: Context) -> Option<Stand> {
        standing::take(self, context)
    }
}

/// The arenas made so far, the one that serves everybody first.
pub(super) fn made() -> impl Iterator<Item = OwnArena> {
    HEADERS
        .iter()
        .map_while(|word| OwnArena::at(word.load(Ordering::Acquire)))
}

/// The arena of this number, made with the settings of `global` if need be; `None` where there is
/// no memory for it.
pub(super) fn at(index: usize, global: &Global) -> Option<OwnArena> {
    let word = HEADERS.get(index)?;
    OwnArena::at(word.load(Ordering::Acquire)).or_else(|| {
        // Where the last chunk went to somebody who makes the same arena, there may be one now.
        let made = make(word, global);
        OwnArena::at(made.unwrap_or_else(|| word.load(Ordering::Acquire)))
    })
}

#[cold]
#[cfg_attr(
    all(target_family = "wasm", target_feature = "atomics"),
    optimize(size)
)]
fn make(word: &AtomicU32, global: &Global) -> Option<u32> {
    let source = source::at_most(global.maximum_bytes)?;
    let config = Config {
        max_workers: (global.config.max_workers + standing::SEATS).min(MAX_WORKERS),
        ..global.config
    };
    let arena = Arena::make(source::handed(source), config, Context::NoWait).ok()?;
    let found = match standing::make(source, &arena) {
        Some(()) => {
            match word.compare_exchange(0, arena.address(), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(arena.address()),
                Err(found) => Some(found),
            }
        }
        None => None,
    };
    // SAFETY: nobody else knows the arena, and nothing was allocated from it.
    let ended = unsafe { arena.destroy() };
    debug_assert!(ended.is_ok(), "nobody else can hold its lock");
    found
}
