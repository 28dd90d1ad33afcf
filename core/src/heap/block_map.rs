//! The block map of a chunk, and which chunks are the arena's.
//!
//! A chunk's first 64 KiB, an order-12 block of metadata, are its block map: the byte of unit u
//! stands at offset u. A block's byte is [`block_byte`]; units inside a block have 0. So the
//! byte of any address costs two masks and a shift to find, and an address that is not the start
//! of a block is seen at once.
//!
//! **Who may write a byte.** The byte of a free block: the holder of the heap lock. The byte of
//! a block that is out of the heap: whoever owns the block, which is one worker, or the holder
//! of the transfer cache that it sits in. A block passes from one to another through a lock or
//! through the program's own hand-over, so the byte is a plain one.

use super::block::{BlockState, block_byte, block_extent, block_state};
use crate::memory::Memory;
use crate::order::{
    CHUNK_BYTES, CHUNK_ORDER, CHUNK_UNITS, MAX_CHUNKS, UNIT_BYTES, block_units, chunk_index,
    chunk_of, unit_of,
};
use crate::sync::{PlainU8, PlainU32};

/// The order of the metadata block that holds a chunk's map: 65,536 bytes.
pub(crate) const MAP_ORDER: u32 = 12;
/// Units of a chunk that are left to allocate.
pub(crate) const USABLE_UNITS: u32 = CHUNK_UNITS - block_units(MAP_ORDER);

/// The byte of the unit at `address`.
///
/// # Safety
///
/// `address` lies in a chunk of the arena, which the caller keeps alive for `'a`.
#[inline(always)]
pub(crate) unsafe fn map_byte<'a>(memory: Memory, address: u32) -> &'a PlainU8 {
    // SAFETY: every chunk of an arena begins with its map, and a unit's number is below 65,536.
    unsafe { memory.at(chunk_of(address) + unit_of(address)) }
}

/// What a chunk of the memory is to the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ChunkKind {
    /// Never the arena's.
    Foreign = 0,
    /// Cut into blocks; begins with its block map.
    Blocks = 1,
    /// The first of a run that is one huge block. It has no map.
    Huge = 2,
    /// Another chunk of such a run.
    HugeRest = 3,
    /// Given back to the source.
    Returned = 4,
    /// The first of a run that was freed and waits on the deferred list.
    HugeDeferred = 5,
}

/// Which chunks of the memory are the arena's, and how full they are.
#[repr(C)]
pub(crate) struct ChunkTable {
    /// A [`ChunkKind`] for each. Read on every free, written by growth only, and so kept apart
    /// from what changes all the time.
    kinds: [PlainU8; MAX_CHUNKS],
    /// Free units of a chunk of blocks, chunks of a huge run at its first; under the heap lock.
    counts: [PlainU32; MAX_CHUNKS],
}

impl ChunkTable {
    /// Where the kinds stand in the table.
    pub(crate) const KINDS_OFFSET: usize = core::mem::offset_of!(Self, kinds);

    /// Whether `address` lies in a chunk of blocks of the arena.
    #[inline(always)]
    pub(crate) fn has_map(&self, address: u32) -> bool {
        self.kinds[chunk_index(address)].get() == ChunkKind::Blocks as u8
    }

    /// What the chunk that holds `address` is.
    pub(crate) fn kind(&self, address: u32) -> ChunkKind {
        match self.kinds[chunk_index(address)].get() {
            1 => ChunkKind::Blocks,
            2 => ChunkKind::Huge,
            3 => ChunkKind::HugeRest,
            4 => ChunkKind::Returned,
            5 => ChunkKind::HugeDeferred,
            _ => ChunkKind::Foreign,
        }
    }

    pub(crate) fn set_kind(&self, chunk: u32, kind: ChunkKind) {
        self.kinds[chunk_index(chunk)].set(kind as u8);
    }

    /// Makes the chunk `new` if it is `current`, in one step; whether it was.
    pub(crate) fn exchange_kind(&self, chunk: u32, current: ChunkKind, new: ChunkKind) -> bool {
        self.kinds[chunk_index(chunk)].exchange(current as u8, new as u8)
    }

    /// The count of free units of the chunk of blocks that holds `address`.
    pub(crate) fn free_units(&self, address: u32) -> &PlainU32 {
        &self.counts[chunk_index(address)]
    }

    /// The count of chunks of the huge run whose first chunk is at `address`.
    pub(crate) fn run_chunks(&self, address: u32) -> &PlainU32 {
        &self.counts[chunk_index(address)]
    }

    /// The addresses of the arena's chunks of one kind, lowest first.
    pub(crate) fn of_kind(&self, kind: ChunkKind) -> impl Iterator<Item = u32> + '_ {
        (0..MAX_CHUNKS as u32)
            .map(|index| index * CHUNK_BYTES)
            .filter(move |&chunk| self.kind(chunk) == kind)
    }
}

/// Writes the map of a fresh chunk, all zero so far, whose only block yet is the map itself.
///
/// # Safety
///
/// The chunk at `chunk` is the caller's and its map is zero.
pub(crate) unsafe fn begin_chunk(memory: Memory, chunk: u32) {
    // SAFETY: the chunk is the caller's.
    unsafe { map_byte(memory, chunk) }.set(block_byte(BlockState::Metadata, MAP_ORDER));
}

/// The block that holds `address`: its start and its byte. For addresses that are no block's
/// start; slow, and only as exact as the moment when others run.
///
/// # Safety
///
/// `address` lies in a chunk of the arena.
pub(crate) unsafe fn enclosing_block(memory: Memory, address: u32) -> Option<(u32, BlockState)> {
    let chunk = chunk_of(address);
    let unit = unit_of(address);
    (0..=CHUNK_ORDER).find_map(|order| {
        let start = unit & !(block_units(order) - 1);
        let start_address = chunk + start * UNIT_BYTES;
        // SAFETY: the address lies in the same chunk.
        let byte = unsafe { map_byte(memory, start_address) }.get();
        let state = block_state(byte);
        let covers = block_extent(byte).is_some_and(|extent| start + extent.units() > unit);
        (state != BlockState::Interior && covers).then_some((start_address, state))
    })
}
