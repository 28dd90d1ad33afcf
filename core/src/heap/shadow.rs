//! The shadow map of a chunk: in checking mode, which of its bytes are allocated.
//!
//! ```text
//!   chunk   0x00000 block map │ 0x10000 … │ 0x20000 shadow map │ 0x30000 …
//!
//!   an object of 40 bytes in a block of 64:   16 │ 16 │ 8 │ 0
//! ```
//!
//! One byte a unit says how many of the unit's 16 bytes, from its first, somebody has asked for. So
//! the requested size of an object needs no place of its own: it is the sum over its block, for any
//! size and at any alignment, and the object can have every byte of its block. (In the padding
//! there would be no room for it where a size fills its block.) A range is allocated if all of its
//! units say so, whatever objects it spans.
//!
//! **Who may write a byte**: whoever may write the block's byte in the block map. Watchers may read
//! at any time.

use super::block_map::MAP_ORDER;
use crate::memory::Memory;
use crate::order::{CHUNK_UNITS, UNIT_BYTES, block_bytes, block_units, chunk_of, unit_of};
use crate::sync::PlainU8;

/// The order of the metadata block that holds the map: a byte a unit, like the block map.
pub(crate) const SHADOW_ORDER: u32 = MAP_ORDER;
/// Where it stands in the chunk: behind the first block, which may hold an arena's header.
pub(crate) const SHADOW_OFFSET: u32 = block_bytes(MAP_ORDER + 1);

/// The bytes of the `units` units from the one at `address` on.
///
/// # Safety
///
/// They lie in one chunk of blocks of an arena in checking mode, which the caller keeps alive for
/// `'a`.
unsafe fn bytes<'a>(memory: Memory, address: u32, units: u32) -> &'a [PlainU8] {
    let start = chunk_of(address) + SHADOW_OFFSET + unit_of(address);
    // SAFETY: every chunk of such an arena has its shadow map there.
    unsafe { memory.slice(start, units) }
}

/// Makes the shadow map of a chunk that the heap adopts: nothing is allocated.
///
/// # Safety
///
/// The chunk at `chunk` is the caller's.
pub(crate) unsafe fn begin(memory: Memory, chunk: u32, zeroed: bool) {
    if !zeroed {
        // SAFETY: the map lies in the caller's chunk.
        unsafe {
            memory
                .pointer::<u8>(chunk + SHADOW_OFFSET)
                .write_bytes(0, CHUNK_UNITS as usize);
        }
    }
}

/// Says that the first `size` bytes of a block are allocated, and its others are not. The first unit
/// is written last, and first where that is none: so what [`size`] says changes in one step.
///
/// # Safety
///
/// The block at `address`, of `order`, is the caller's, in a chunk as [`bytes`] wants it.
pub(crate) unsafe fn set(memory: Memory, address: u32, order: u32, size: u32) {
    // SAFETY: the caller promises such a block.
    let units = unsafe { bytes(memory, address, block_units(order)) };
    let set = |(unit, byte): (u32, &PlainU8)| {
        byte.set(size.saturating_sub(unit * UNIT_BYTES).min(UNIT_BYTES) as u8);
    };
    let each = (0..block_units(order)).zip(units);
    if size == 0 {
        each.for_each(set);
    } else {
        each.rev().for_each(set);
    }
}

/// How many bytes of a block are allocated, from its first.
///
/// # Safety
///
/// A block of `order` starts at `address`, in a chunk as [`bytes`] wants it.
pub(crate) unsafe fn size(memory: Memory, address: u32, order: u32) -> u32 {
    // SAFETY: the caller promises such a block.
    let units = unsafe { bytes(memory, address, block_units(order)) };
    units
        .iter()
        .map(|byte| u32::from(byte.get()))
        .take_while(|&allocated| allocated > 0)
        .sum()
}

/// Whether the unit of `address` has that very byte allocated.
///
/// # Safety
///
/// `address` lies in a chunk as [`bytes`] wants it.
pub(crate) unsafe fn has(memory: Memory, address: u32) -> bool {
    // SAFETY: the caller promises such a chunk.
    let unit = unsafe { &bytes(memory, address, 1)[0] };
    address % UNIT_BYTES < u32::from(unit.get())
}
