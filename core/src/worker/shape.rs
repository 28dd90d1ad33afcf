//! Allocations of a certain shape: zeroed, aligned, and resized.

use super::check::Block;
use super::miss::Request;
use super::{Worker, clamp};
use crate::error::{AllocError, FreeError, ReallocError};
use crate::heap::central::Taken;
use crate::heap::extent::{Extent, FIRST_CUT_ORDER};
use crate::order::{CHUNK_BYTES, MAX_ORDER, block_bytes, order_of};
use crate::source::ChunkSource;
use core::ptr::NonNull;

/// Copies `bytes`, a multiple of 16, between blocks.
///
/// # Safety
///
/// Both are allocated, have that many bytes, are this agent's and not the same.
#[inline(always)]
unsafe fn copy(from: NonNull<u8>, to: NonNull<u8>, bytes: u32) {
    // Engines make a call of their runtime of every `memory.copy`, dearer than a few loads and stores.
    const LOOP: u32 = if cfg!(target_family = "wasm") { 256 } else { 0 };
    if bytes > LOOP {
        // SAFETY: the caller's promise.
        unsafe { to.copy_from_nonoverlapping(from, bytes as usize) };
        return;
    }
    let (from, to) = (from.cast::<u64>(), to.cast::<u64>());
    for index in (0..bytes as usize / 8).step_by(2) {
        // SAFETY: as above; blocks are aligned to 16 bytes. Volatile, or the compiler makes a
        // `memory.copy` of the loop.
        unsafe {
            to.add(index)
                .write_volatile(from.add(index).read_volatile());
            to.add(index + 1)
                .write_volatile(from.add(index + 1).read_volatile());
        }
    }
}

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
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
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
    /// buddies are free, else by moving; one that becomes so small that caches hold it moves too. A null pointer allocates. On an error the old block stays
    /// as it was; a size of 0 is one, and frees nothing.
    #[inline]
    pub fn realloc(&self, pointer: *mut u8, size: usize) -> Result<NonNull<u8>, ReallocError> {
        match self.realloc_hit(pointer, size) {
            Some(object) => Ok(object),
            None => self.realloc_missed(pointer, size),
        }
    }

    /// [`realloc`](Self::realloc) of a block that has the right order already, or that moves from one
    /// stack's block to another's: without a lock, and what growing in small steps is nearly always.
    #[inline(always)]
    pub(crate) fn realloc_hit(&self, pointer: *mut u8, size: usize) -> Option<NonNull<u8>> {
        let (address, from) = self.small_at(pointer)?;
        let to = order_of(clamp(size));
        // From that order on a block may be cut short where it is.
        if from >= FIRST_CUT_ORDER || self.slot.checked(self.memory).is_some() {
            return None;
        }
        if to != from {
            if to > from && self.may_extend(address, Extent::whole(from), Extent::whole(to)) {
                return None;
            }
            let moved = self.hit(size)?;
            // SAFETY: two blocks of this worker's program, of at least that many bytes.
            unsafe { copy(self.pointer(address), moved, block_bytes(from.min(to))) };
            return self.moved(address, from, moved);
        }
        Some(self.pointer(address))
    }

    /// Frees the small block at `address`, whose bytes are at `moved` now. `None`, and that one is
    /// freed, where somebody else freed it meanwhile.
    #[inline(always)]
    fn moved(&self, address: u32, order: u32, moved: NonNull<u8>) -> Option<NonNull<u8>> {
        if self.push_small(address, order) {
            return Some(moved);
        }
        self.free_moved(self.pointer(address), moved)
    }

    #[cold]
    #[inline(never)]
    fn free_moved(&self, old: NonNull<u8>, moved: NonNull<u8>) -> Option<NonNull<u8>> {
        if self.try_free(old.as_ptr()) {
            return Some(moved);
        }
        // The new block is nobody's, and was this worker's until now.
        let ours = self.try_free(moved.as_ptr());
        debug_assert!(ours);
        None
    }

    #[cold]
    #[inline(never)]
    fn realloc_missed(&self, pointer: *mut u8, size: usize) -> Result<NonNull<u8>, ReallocError> {
        if pointer.is_null() {
            return Ok(self.alloc(size)?);
        }
        self.realloc_found(pointer, size)
            .unwrap_or_else(|| Err(self.refuse(pointer).into()))
    }

    /// [`realloc`](Self::realloc) in all cases; `None` where `pointer` is no allocated block, or ceases
    /// to be one meanwhile.
    #[inline(never)]
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    pub(crate) fn realloc_found(
        &self,
        pointer: *mut u8,
        size: usize,
    ) -> Option<Result<NonNull<u8>, ReallocError>> {
        let block = self.block_at(pointer)?;
        let request = match Request::of(size) {
            Ok(request) => request,
            Err(error) => return Some(Err(error.into())),
        };
        let small = if self.shrinks_to_cached(block, &request) {
            self.missed(size).ok()
        } else {
            None
        };
        let moved = match small {
            Some(small) => small,
            None => {
                match self.resize_checked(block, &request, size) {
                    Ok(true) => return Some(Ok(self.pointer(block.address))),
                    Ok(false) => {}
                    Err(error) => return Some(Err(error)),
                }
                match self.missed(size) {
                    Ok(moved) => moved,
                    Err(error) => return Some(Err(error.into())),
                }
            }
        };
        let kept = self.usable(block).min(size);
        // SAFETY: both blocks are allocated, have that many bytes, and are not the same.
        unsafe { moved.copy_from_nonoverlapping(self.pointer(block.address), kept) };
        self.free_moved(self.pointer(block.address), moved).map(Ok)
    }

    /// Whether a block becomes one that caches hold. It moves then, if there is one: a small block that
    /// was the start of a larger one would keep that from being whole again for as long as it goes from
    /// cache to cache.
    fn shrinks_to_cached(&self, block: Block, request: &Request) -> bool {
        match (block.extent, request) {
            (Some(from), &Request::Block(to)) => {
                to < from.order()
                    && self.stack(to).is_some()
                    && self.slot.checked(self.memory).is_none()
            }
            _ => false,
        }
    }

    /// Resizes the block where it is; `false` when it must move.
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
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

    /// Whether what it would grow over looks free.
    fn may_extend(&self, address: u32, from: Extent, to: Extent) -> bool {
        if !address.is_multiple_of(block_bytes(to.order())) {
            return false;
        }
        let end = address + to.bytes();
        let mut reached = address + from.bytes();
        while reached < end {
            match self.looks_free(reached) {
                Some(bytes) => reached += bytes,
                None => return false,
            }
        }
        true
    }

    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
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
