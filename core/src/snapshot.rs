//! Every block of an arena, read while others run: what a watcher draws.
//!
//! It locks nothing and stops nobody. Each byte of the block maps is right for the moment at which
//! it is read, and not all for the same: a block that is cut or merged meanwhile may be seen as it
//! was, as it is, or not at all, but never beyond its chunk.

use crate::header::Header;
use crate::heap::block::{BlockState, block_extent, block_state};
use crate::heap::block_map::{ChunkKind, map_byte};
use crate::heap::extent::Extent;
use crate::memory::Memory;
use crate::order::{CHUNK_BYTES, CHUNK_UNITS, UNIT_BYTES};

/// A block as a snapshot sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenBlock {
    /// Its address: bytes from the start of the memory.
    pub address: u32,
    /// Its bytes: 16 << order, five or six eighths of that, or whole chunks for a huge block.
    pub bytes: u64,
    /// What it is.
    pub state: BlockState,
}

/// The blocks of the arena, chunk by chunk in address order, and then its huge blocks.
pub(crate) fn blocks(header: &Header, memory: Memory) -> impl Iterator<Item = SeenBlock> {
    let table = &header.central.table;
    let in_chunks = table
        .of_kind(ChunkKind::Blocks)
        .flat_map(move |chunk| chunk_blocks(memory, chunk));
    let huge = [
        (ChunkKind::Huge, BlockState::Allocated),
        (ChunkKind::HugeDeferred, BlockState::Deferred),
    ];
    let huge = huge.into_iter().flat_map(move |(kind, state)| {
        table.of_kind(kind).map(move |address| SeenBlock {
            address,
            bytes: u64::from(table.run_chunks(address).get()) * u64::from(CHUNK_BYTES),
            state,
        })
    });
    in_chunks.chain(huge)
}

fn chunk_blocks(memory: Memory, chunk: u32) -> impl Iterator<Item = SeenBlock> {
    let mut unit = 0;
    core::iter::from_fn(move || {
        while unit < CHUNK_UNITS {
            let address = chunk + unit * UNIT_BYTES;
            // SAFETY: the chunk was the arena's, and its memory stays readable when it is given
            // back.
            let byte = unsafe { map_byte(memory, address) }.get();
            let state = block_state(byte);
            let units = block_extent(byte).map_or(CHUNK_UNITS + 1, Extent::units);
            if state == BlockState::Interior || unit + units > CHUNK_UNITS {
                // A block that is changing: go on where the next one may start.
                unit += 1;
                continue;
            }
            unit += units;
            return Some(SeenBlock {
                address,
                bytes: (units * UNIT_BYTES).into(),
                state,
            });
        }
        None
    })
}
