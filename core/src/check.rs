//! Whether a range of bytes is allocated: the question that the shadow maps of checking mode answer.

use crate::header::Header;
use crate::heap::block_map::ChunkKind;
use crate::heap::shadow;
use crate::memory::Memory;
use crate::order::{CHUNK_BYTES, UNIT_BYTES, chunk_of};
use crate::sync::PlainU32;
use core::fmt;

/// Why a range is not known to be allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckError {
    /// The arena is not in checking mode, and does not know.
    NotChecking,
    /// The first byte that is not.
    Unallocated {
        /// Where in the range, in bytes from its start.
        offset: usize,
    },
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotChecking => f.write_str(
                "the arena does not know of every byte; make it with `checking` to have that",
            ),
            Self::Unallocated { offset } => {
                write!(f, "the byte at offset {offset:#x} is not allocated")
            }
        }
    }
}

impl core::error::Error for CheckError {}

/// See [`Arena::check`](crate::Arena::check).
pub(crate) fn check(
    header: &Header,
    memory: Memory,
    pointer: *const u8,
    length: usize,
) -> Result<(), CheckError> {
    if header.config.checking.get() == 0 {
        return Err(CheckError::NotChecking);
    }
    let allocated = |offset: usize| {
        memory
            .address(pointer.wrapping_add(offset))
            .is_some_and(|address| is_allocated(header, memory, address))
    };
    // Of a unit some first bytes are allocated, so its last one in the range speaks for all.
    let mut start = 0;
    while start < length {
        let to_unit_end = UNIT_BYTES as usize - (pointer.addr() + start) % UNIT_BYTES as usize;
        let end = length.min(start + to_unit_end);
        if !allocated(end - 1)
            && let Some(offset) = (start..end).find(|&offset| !allocated(offset))
        {
            return Err(CheckError::Unallocated { offset });
        }
        start = end;
    }
    Ok(())
}

fn is_allocated(header: &Header, memory: Memory, address: u32) -> bool {
    match header.central.table.kind(address) {
        // SAFETY: the table says that the chunk is one of blocks, and the mode that it has a
        // shadow map.
        ChunkKind::Blocks => unsafe { shadow::has(memory, address) },
        ChunkKind::Huge => huge_has(header, memory, chunk_of(address), address),
        ChunkKind::HugeRest => (1..)
            .map_while(|back| chunk_of(address).checked_sub(back * CHUNK_BYTES))
            .find(|&start| header.central.table.kind(start) != ChunkKind::HugeRest)
            .filter(|&start| header.central.table.kind(start) == ChunkKind::Huge)
            .is_some_and(|start| huge_has(header, memory, start, address)),
        ChunkKind::Foreign | ChunkKind::Returned | ChunkKind::HugeDeferred => false,
    }
}

fn huge_has(header: &Header, memory: Memory, start: u32, address: u32) -> bool {
    let bytes = u64::from(header.central.table.run_chunks(start).get()) * u64::from(CHUNK_BYTES);
    // A run that shrinks at this moment has fewer chunks before it has less padding.
    let padding = u64::from(huge_padding(header, memory, start).get());
    let size = bytes.saturating_sub(padding);
    u64::from(address - start) < size
}

/// The count of bytes of the huge run at `start` that nobody asked for, in checking mode.
pub(crate) fn huge_padding<'a>(header: &Header, memory: Memory, start: u32) -> &'a PlainU32 {
    let index = start / CHUNK_BYTES;
    // SAFETY: an arena in checking mode was made with that table, a word for each chunk of the
    // memory.
    unsafe { memory.at(header.huge_padding.get() + index * 4) }
}
