//! Allocations of a certain shape: zeroed, aligned, and resized.

use super::check::Block;
use super::miss::Request;
use super::{Worker, clamp};
use crate::error::{AllocError, FreeError, ReallocError};
use crate::heap::central::Taken;
use crate::heap::extent::Extent;
use crate::order::{CHUNK_BYTES, MAX_ORDER, block_bytes, order_of};
use crate::source::ChunkSource;
use core::ptr::NonNull;

impl<S: ChunkSource> Worker<'_, S> {
    /// [`alloc`](Self::alloc) of bytes that are all zero. Memory that nobody has had since it
    /// grew is known to be zero, and is not touched.
    pub fn alloc_zeroed(&self, size: usize) -> Result<NonNull<u8>, AllocError> {
        let effort = self.effort();
        let request = Request::of(size)?;
        let (taken, extent) = match request {
            Request::Block(order) => {
                let extent = self.extent(size, order);
                let taken = match self.refill_and_pop(order, effort)? {
                    Some(address) => Taken {
                        address,
                        zeroed: false,
                    },
                    None => self.take_direct(extent, effort)?,
                };
                (taken, Some(extent))
            }
            Request::Huge(count) => (self.take_huge(count, effort)?, None),
        };
        let block = Block {
            address: taken.address,
            extent,
        };
        let object = self.hand_out(block, size);
        if !taken.zeroed {
            // SAFETY: the block was just allocated and has at least `size` bytes.
            unsafe { object.write_bytes(0, size) };
        }
        Ok(object)
    }

    /// [`alloc`](Self::alloc) at a multiple of `alignment`, a power of two up to 1 MiB. Takes no
    /// more memory than the size needs, whatever the alignment, but for 1 MiB, which takes a
    /// chunk.
    pub fn alloc_aligned(&self, size: usize, alignment: usize) -> Result<NonNull<u8>, AllocError> {
        if !alignment.is_power_of_two() || alignment > CHUNK_BYTES as usize {
            return Err(AllocError::BadAlignment);
        }
        let wanted = order_of(clamp(alignment));
        match Request::of(size)? {
            // A block is aligned to its own size.
            Request::Block(order) if wanted > MAX_ORDER => {
                debug_assert!(order <= MAX_ORDER);
                let address = self.take_huge(1, self.effort())?.address;
                let block = Block {
                    address,
                    extent: None,
                };
                Ok(self.hand_out(block, size))
            }
            Request::Block(order) if wanted > order => {
                let extent = self.extent(size, order);
                let taken = self.take_direct_aligned(extent, wanted, self.effort())?;
                let block = Block {
                    address: taken.address,
                    extent: Some(extent),
                };
                Ok(self.hand_out(block, size))
            }
            Request::Block(_) | Request::Huge(_) => self.alloc(size),
        }
    }

    /// Makes the allocated block at `pointer` one of at least `size` bytes, which keeps its bytes
    /// up to the smaller of both sizes: where it is if the block fits or can shrink or its next
    /// buddies are free, else by moving. A null pointer allocates. On an error the old block stays
    /// as it was; a size of 0 is one, and frees nothing.
    pub fn realloc(&self, pointer: *mut u8, size: usize) -> Result<NonNull<u8>, ReallocError> {
        if pointer.is_null() {
            return Ok(self.alloc(size)?);
        }
        let block = self.check(pointer)?;
        let request = Request::of(size)?;
        if self.resize_checked(block, &request, size)? {
            return Ok(self.pointer(block.address));
        }
        let moved = self.alloc(size)?;
        let kept = self.usable_size(pointer)?.min(size);
        // SAFETY: both blocks are allocated, have that many bytes, and are not the same.
        unsafe { moved.copy_from_nonoverlapping(self.pointer(block.address), kept) };
        match self.free(pointer) {
            Ok(()) => Ok(moved),
            // Somebody else freed it meanwhile: the new block is nobody's.
            Err(error) => {
                self.free(moved.as_ptr())?;
                Err(error.into())
            }
        }
    }

    /// Resizes the block where it is; `false` when it must move.
    pub(super) fn resize(
        &self,
        block: Block,
        request: &Request,
        size: usize,
    ) -> Result<bool, ReallocError> {
        let address = block.address;
        match (block.extent, request) {
            (Some(from), &Request::Block(order)) => {
                let to = self.extent(size, order);
                if from == to {
                    return Ok(true);
                }
                let grows = to.units() > from.units();
                // Without the lock, and so only a hint: most blocks that cannot grow here show it.
                if grows && !self.may_extend(address, from, to) {
                    return Ok(false);
                }
                let Ok(mut heap) = self.heap(self.effort().patience) else {
                    // A block that stays too large is right; one that must grow moves.
                    return Ok(!grows);
                };
                // SAFETY: the block is allocated, of `from`, and the caller's.
                unsafe {
                    if grows {
                        return Ok(heap.extend(address, from, to));
                    }
                    heap.shrink(address, from, to);
                }
                Ok(true)
            }
            (None, &Request::Huge(count)) => self.resize_huge(address, count),
            (Some(_), Request::Huge(_)) | (None, Request::Block(_)) => Ok(false),
        }
    }

    fn may_extend(&self, address: u32, from: Extent, to: Extent) -> bool {
        address.is_multiple_of(block_bytes(to.order())) && self.looks_free(address + from.bytes())
    }

    fn resize_huge(&self, address: u32, count: u32) -> Result<bool, ReallocError> {
        let mut heap = self
            .heap(self.effort().patience)
            .map_err(AllocError::from)?;
        let chunks = heap.huge_chunks(address).ok_or(FreeError::NotAllocated)?;
        if count < chunks {
            // SAFETY: the block has more chunks than that, and the caller gives the rest up.
            unsafe { heap.give_huge(self.source, address, count) };
        }
        Ok(count <= chunks)
    }
}
