//! What a pointer is: an allocated block of the arena, or which kind of mistake.

use super::Worker;
use crate::error::FreeError;
use crate::heap::block::{BlockState, allocated_extent, block_extent, block_state};
use crate::heap::block_map::{ChunkKind, enclosing_block, map_byte};
use crate::heap::extent::Extent;
use crate::order::{CHUNK_BYTES, UNIT_BYTES};
use crate::source::ChunkSource;

/// An allocated block.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) address: u32,
    /// What it covers, or `None` for a huge block.
    pub(super) extent: Option<Extent>,
}

impl Block {
    /// The order of a whole block: one that a cache may hold.
    pub(super) fn whole_order(self) -> Option<u32> {
        self.extent
            .filter(|extent| extent.is_whole())
            .map(Extent::order)
    }
}

impl<S: ChunkSource> Worker<'_, S> {
    /// Whether `pointer` lies in a chunk of this arena: in an allocated block, a free one, or the
    /// allocator's own. Never refuses, whatever the pointer.
    pub fn owns(&self, pointer: *const u8) -> bool {
        self.header.owns(self.memory, pointer)
    }

    /// Bytes that the allocated block at `pointer` has: what was asked for, rounded up; in
    /// checking mode what was asked for.
    pub fn usable_size(&self, pointer: *const u8) -> Result<usize, FreeError> {
        Ok(self.usable(self.check(pointer)?))
    }

    /// The same, `None` where there is no such block.
    #[cfg(not(loom))]
    pub(crate) fn held(&self, pointer: *const u8) -> Option<usize> {
        Some(self.usable(self.block_at(pointer)?))
    }

    /// The same of a block.
    pub(super) fn usable(&self, block: Block) -> usize {
        match self.slot.checked(self.memory) {
            None => self.block_bytes(block),
            Some(_) => self.requested(block),
        }
    }

    /// Bytes of the whole block.
    pub(super) fn block_bytes(&self, block: Block) -> usize {
        match block.extent {
            Some(extent) => extent.bytes() as usize,
            None => {
                let chunks = self.header.central.table.run_chunks(block.address).get();
                chunks as usize * CHUNK_BYTES as usize
            }
        }
    }

    /// Bytes of the free block that seems to start at `address`, in a chunk of blocks: only as true as
    /// the moment, without the heap lock.
    pub(super) fn looks_free(&self, address: u32) -> Option<u32> {
        // SAFETY: the caller's address lies in a chunk of blocks of the arena.
        let byte = unsafe { map_byte(self.memory, address) }.get();
        let extent = block_extent(byte)?;
        block_state(byte).is_free().then(|| extent.bytes())
    }

    /// The allocated block at `pointer`, or what else it is.
    #[inline(always)]
    pub(super) fn check(&self, pointer: *const u8) -> Result<Block, FreeError> {
        match self.block_at(pointer) {
            Some(block) => Ok(block),
            None => Err(self.refuse(pointer)),
        }
    }

    /// The allocated block at `pointer`. What nearly every free asks is answered in place.
    #[inline(always)]
    pub(super) fn block_at(&self, pointer: *const u8) -> Option<Block> {
        let address = self.memory.address(pointer)?;
        if !self.header.central.table.has_map(address) {
            return self.huge_at(address);
        }
        if address % UNIT_BYTES != 0 {
            return None;
        }
        // SAFETY: the chunk table says that the address lies in a chunk of blocks of the arena.
        let byte = unsafe { map_byte(self.memory, address) }.get();
        let extent = allocated_extent(byte)?;
        Some(Block {
            address,
            extent: Some(extent),
        })
    }

    #[cold]
    fn huge_at(&self, address: u32) -> Option<Block> {
        let starts = address.is_multiple_of(CHUNK_BYTES)
            && self.header.central.table.kind(address) == ChunkKind::Huge;
        starts.then_some(Block {
            address,
            extent: None,
        })
    }

    /// What a pointer is that is no allocated block.
    #[cold]
    pub(crate) fn refuse(&self, pointer: *const u8) -> FreeError {
        let Some(address) = self.memory.address(pointer) else {
            return FreeError::Foreign;
        };
        match self.header.central.table.kind(address) {
            ChunkKind::Foreign => FreeError::Foreign,
            ChunkKind::Returned => FreeError::NotAllocated,
            _ if address % UNIT_BYTES != 0 => FreeError::Unaligned,
            ChunkKind::Blocks => self.refuse_mapped(address),
            ChunkKind::HugeDeferred => FreeError::Deferred,
            // A whole huge block that was allocated a moment ago is being freed by another worker.
            ChunkKind::Huge if address.is_multiple_of(CHUNK_BYTES) => FreeError::NotAllocated,
            ChunkKind::Huge | ChunkKind::HugeRest => FreeError::Interior,
        }
    }

    /// Why an aligned address in a chunk of blocks, where no allocated block starts, is refused.
    fn refuse_mapped(&self, address: u32) -> FreeError {
        // SAFETY: the chunk table says that the address lies in a chunk of blocks of the arena.
        let byte = unsafe { map_byte(self.memory, address) }.get();
        match block_state(byte) {
            // SAFETY: as above.
            BlockState::Interior => match unsafe { enclosing_block(self.memory, address) } {
                // Only a live block makes it an interior pointer.
                Some((_, BlockState::Allocated)) => FreeError::Interior,
                Some((_, state)) => refusal(state),
                None => FreeError::NotAllocated,
            },
            state => refusal(state),
        }
    }
}

/// Why a block in `state` cannot be freed.
fn refusal(state: BlockState) -> FreeError {
    match state {
        BlockState::Metadata => FreeError::Metadata,
        BlockState::Cached => FreeError::Cached,
        BlockState::InTransfer => FreeError::InTransfer,
        BlockState::Deferred => FreeError::Deferred,
        BlockState::Interior | BlockState::Free | BlockState::Zeroed | BlockState::Allocated => {
            FreeError::NotAllocated
        }
    }
}
