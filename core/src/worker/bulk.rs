//! Many objects at once, past the caches.

use super::Worker;
use super::check::Block;
use super::miss::{Effort, Request};
use crate::error::{AllocError, Busy, FreeError};
use crate::heap::extent::Extent;
use crate::order::{MAX_ORDER, block_bytes};
use crate::source::ChunkSource;

impl<S: ChunkSource> Worker<'_, S> {
    /// Allocates `1 << n_order` objects of at least `size` bytes each, cut from one block of that
    /// many times the size, and writes them to `out`, lowest first at a constant stride. Each can
    /// be freed on its own. Bypasses the caches; may grow the memory by a chunk.
    pub fn alloc_bulk(
        &self,
        size: usize,
        n_order: u32,
        out: &mut [*mut u8],
    ) -> Result<(), AllocError> {
        self.bulk(size, n_order, out, self.effort())
    }

    /// [`alloc_bulk`](Self::alloc_bulk) out of the chunks that there are.
    pub fn alloc_bulk_nogrow(
        &self,
        size: usize,
        n_order: u32,
        out: &mut [*mut u8],
    ) -> Result<(), AllocError> {
        self.bulk(size, n_order, out, self.effort().without_growth())
    }

    fn bulk(
        &self,
        size: usize,
        n_order: u32,
        out: &mut [*mut u8],
        effort: Effort,
    ) -> Result<(), AllocError> {
        let Request::Block(order) = Request::of(size)? else {
            return Err(AllocError::TooLarge);
        };
        if n_order > MAX_ORDER - order {
            return Err(AllocError::TooLarge);
        }
        let out = out.get_mut(..1 << n_order).ok_or(AllocError::ShortArray)?;
        let first = self.take(effort, |heap| heap.take_bulk(order, n_order))?;
        for (index, object) in (0..).zip(out) {
            let address = first.address + index * block_bytes(order);
            let block = Block {
                address,
                extent: Some(Extent::whole(order)),
            };
            *object = self.hand_out(block, size).as_ptr();
        }
        Ok(())
    }

    /// Frees every pointer of the array under one taking of the heap lock, bypassing the caches.
    /// Null pointers are passed over; each that is refused is reported to `refused` with its
    /// index, and does not keep the others from being freed. Returns how many were freed. When
    /// the lock cannot be had they are deferred, one by one.
    pub fn free_bulk(
        &self,
        pointers: &[*mut u8],
        mut refused: impl FnMut(usize, FreeError),
    ) -> usize {
        let checked = self.slot.checked(self.memory);
        let mut heap = self.heap(self.effort().patience);
        let mut freed = 0;
        for (index, &pointer) in pointers.iter().enumerate().filter(|(_, p)| !p.is_null()) {
            let mut release = |block| match &mut heap {
                Ok(heap) => self.release_locked(heap, block),
                Err(Busy) => self.defer(block),
            };
            let result = self.check(pointer).and_then(|block| match checked {
                None => {
                    release(block);
                    Ok(())
                }
                Some(checked) => self.free_checked(checked, block, release),
            });
            match result {
                Ok(()) => freed += 1,
                Err(error) => refused(index, error),
            }
        }
        freed
    }
}
