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
use super::source;
use super::standing::Standing;
use crate::arena::Arena;
use crate::lock::Context;
use core::sync::atomic::{AtomicU32, Ordering};

/// The most there are. Each spare one stands for an agent that died in the heap's lock, or was kept
/// from running for as long as another may spin, before the lock was recovered.
pub(super) const MOST: usize = 4;

/// Addresses of the arenas' standing seats; 0: not made.
static MADE: [AtomicU32; MOST] = [const { AtomicU32::new(0) }; MOST];

/// The arenas made so far, the one that serves everybody first.
pub(super) fn made() -> impl Iterator<Item = Standing> {
    MADE.iter()
        .map_while(|word| Standing::at(word.load(Ordering::Acquire)))
}

/// The arena of this number, made with the settings of `global` if need be; `None` where there is
/// no memory for it.
pub(super) fn at(index: usize, global: &Global) -> Option<Standing> {
    let word = &MADE[index];
    Standing::at(word.load(Ordering::Acquire)).or_else(|| {
        // Where the last chunk went to somebody who makes the same arena, there may be one now.
        let made = make(word, global);
        Standing::at(made.unwrap_or_else(|| word.load(Ordering::Acquire)))
    })
}

#[cold]
fn make(word: &AtomicU32, global: &Global) -> Option<u32> {
    let source = source::at_most(global.maximum_bytes)?;
    let arena = Arena::create(source, global.config, Context::NoWait).ok()?;
    let own = Standing::make(source, &arena);
    let published = own.map(|own| {
        word.compare_exchange(0, own, Ordering::AcqRel, Ordering::Acquire)
            .map_or_else(|found| found, |_| own)
    });
    if own.is_none() || published != own {
        // SAFETY: nobody else knows the arena, and nothing was allocated from it.
        let ended = unsafe { arena.destroy() };
        debug_assert!(ended.is_ok(), "nobody else can hold its lock");
    }
    published
}
