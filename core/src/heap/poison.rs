//! The patterns that checking mode writes where nobody should write, and what is found of them.
//!
//! Bytes are read and written one at a time as plain shared words: a program that writes where it
//! should not may do so at this very moment.

use crate::memory::Memory;
use crate::sync::PlainU8;
use core::ops::Range;

/// In every byte of a freed object.
pub(crate) const FREED: u8 = 0xdd;
/// In the bytes of a block behind those that were asked for.
pub(crate) const PADDING: u8 = 0xfd;

/// The bytes of an object, by their offsets in it.
///
/// # Safety
///
/// The range lies in a block of the arena that the caller owns for `'a`, or reads under the heap
/// lock.
unsafe fn bytes<'a>(memory: Memory, address: u32, offsets: &Range<u32>) -> &'a [PlainU8] {
    // SAFETY: the caller promises that the bytes are there.
    unsafe { memory.slice(address + offsets.start, offsets.end - offsets.start) }
}

/// Writes `pattern` into every byte.
///
/// # Safety
///
/// The range lies in a block of the arena that the caller owns.
pub(crate) unsafe fn fill(memory: Memory, address: u32, offsets: Range<u32>, pattern: u8) {
    // SAFETY: the caller's promise, passed on.
    for byte in unsafe { bytes(memory, address, &offsets) } {
        byte.paint(pattern);
    }
}

/// Offset and value of the first byte that is not `pattern`.
///
/// # Safety
///
/// The range lies in a block of the arena that the caller owns, or that stays as it is because the
/// caller holds the heap lock and no other call is in flight.
pub(crate) unsafe fn first_damaged(
    memory: Memory,
    address: u32,
    offsets: Range<u32>,
    pattern: u8,
) -> Option<(u32, u8)> {
    // SAFETY: the caller's promise, passed on.
    let bytes = unsafe { bytes(memory, address, &offsets) };
    offsets
        .zip(bytes)
        .map(|(offset, byte)| (offset, byte.get()))
        .find(|&(_, found)| found != pattern)
}
