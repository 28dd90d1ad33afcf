//! The byte that a block map holds for a unit: what starts there, and how large it is.
//!
//! | bits | meaning |
//! | --- | --- |
//! | 5–7 | [`BlockState`]; 0 where no block starts |
//! | 0–4 | [`Extent`] of the block |
//!
//! So a block's state and extent are read and replaced by one byte access, and neighbours, which
//! may belong to different workers, never share a byte.

use super::extent::Extent;

const EXTENT_BITS: u32 = 5;
const EXTENT_MASK: u8 = (1 << EXTENT_BITS) - 1;

/// What a block is at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum BlockState {
    /// No block starts here: the unit lies inside one.
    Interior = 0,
    /// On a free list of the central heap.
    Free = 1,
    /// In the hands of whoever asked for it.
    Allocated = 2,
    /// Freed, in a worker's cache.
    Cached = 3,
    /// Freed, in a transfer cache.
    InTransfer = 4,
    /// Freed, on the deferred list.
    Deferred = 5,
    /// The allocator's own: a block map, the header, a slot, a table.
    Metadata = 6,
    /// On a free list of the central heap like [`Free`](Self::Free), and every byte of it but the
    /// list's links is zero: nobody has had it since the memory grew.
    Zeroed = 7,
}

impl BlockState {
    /// Whether the central heap has the block on a free list.
    pub fn is_free(self) -> bool {
        matches!(self, Self::Free | Self::Zeroed)
    }

    const ALL: [Self; 8] = [
        Self::Interior,
        Self::Free,
        Self::Allocated,
        Self::Cached,
        Self::InTransfer,
        Self::Deferred,
        Self::Metadata,
        Self::Zeroed,
    ];
}

/// The byte where no block starts.
pub(crate) const INTERIOR: u8 = 0;

/// The byte of a whole block of `order` in `state`.
#[inline(always)]
pub(crate) const fn block_byte(state: BlockState, order: u32) -> u8 {
    extent_byte(state, Extent::whole(order))
}

/// The byte of a block of `extent` in `state`.
#[inline(always)]
pub(crate) const fn extent_byte(state: BlockState, extent: Extent) -> u8 {
    (state as u8) << EXTENT_BITS | extent.code()
}

/// The extent in a block's byte; none in a byte that no block has.
#[inline(always)]
pub const fn block_extent(byte: u8) -> Option<Extent> {
    Extent::coded(byte & EXTENT_MASK)
}

/// Whether the byte is that of a whole block of `order`, whatever its state.
#[inline(always)]
pub(crate) const fn is_whole_of(byte: u8, order: u32) -> bool {
    (byte & EXTENT_MASK) as u32 == order
}

/// The state in a block's byte.
#[inline]
pub const fn block_state(byte: u8) -> BlockState {
    BlockState::ALL[(byte >> EXTENT_BITS) as usize]
}

/// The order of an allocated whole block's byte; anything above every order for any other byte, so
/// that one comparison with the number of cached orders is the whole check of a free.
#[inline(always)]
pub(crate) const fn allocated_order(byte: u8) -> u32 {
    byte.wrapping_sub(block_byte(BlockState::Allocated, 0)) as u32
}

/// The extent of an allocated block's byte; none for any other.
#[inline(always)]
pub(crate) const fn allocated_extent(byte: u8) -> Option<Extent> {
    Extent::coded(byte.wrapping_sub(block_byte(BlockState::Allocated, 0)))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn bytes_keep_state_and_extent_apart() {
        for state in BlockState::ALL {
            for extent in (0..Extent::CODES).filter_map(Extent::coded) {
                let byte = extent_byte(state, extent);
                assert_eq!(block_state(byte), state);
                assert_eq!(block_extent(byte), Some(extent));
                let is_allocated = state == BlockState::Allocated;
                assert_eq!(
                    allocated_extent(byte) == Some(extent),
                    is_allocated,
                    "{byte:#x}"
                );
                let fits = allocated_order(byte) < 16;
                assert_eq!(fits, is_allocated && extent.is_whole(), "{byte:#x}");
            }
        }
    }
}
