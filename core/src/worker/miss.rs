//! Everything behind a hit but the exchange of batches: the central heap, growth, the last resort, and
//! frees that are deferred.

use super::check::Block;
use super::{Worker, clamp};
use crate::agent::Agent;
use crate::cache::lifo::Lifo;
use crate::config::MAX_CACHED_ORDERS;
use crate::error::{AllocError, Busy, FreeError};
use crate::heap::block::{BlockState, extent_byte};
use crate::heap::block_map::{ChunkKind, map_byte};
use crate::heap::central::{Heap, Taken};
use crate::heap::extent::Extent;
use crate::lock::Patience;
use crate::order::{CHUNK_BYTES, CHUNK_UNITS, MAX_CHUNKS, MAX_ORDER, order_of};
use crate::source::ChunkSource;
use crate::sync::PlainU32;
use core::ptr::NonNull;

/// What a call takes on itself to find a block.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    /// How long it tries for a lock.
    pub(super) patience: Patience,
    /// Whether it may grow the memory.
    pub(super) grow: bool,
}

impl Effort {
    /// One try of everything, without growth.
    pub(super) const NO_WAIT: Self = Self {
        patience: Patience::Try,
        grow: false,
    };

    pub(super) fn without_growth(self) -> Self {
        Self {
            grow: false,
            ..self
        }
    }
}

/// What a size asks for.
pub(super) enum Request {
    /// One block of this order.
    Block(u32),
    /// A run of so many chunks.
    Huge(u32),
}

impl Request {
    pub(super) fn of(size: usize) -> Result<Self, AllocError> {
        match (size, order_of(clamp(size))) {
            (0, _) => Err(AllocError::ZeroSize),
            (_, order) if order <= MAX_ORDER => Ok(Self::Block(order)),
            _ => match size.div_ceil(CHUNK_BYTES as usize) {
                // Chunk 0 is never handed out.
                count if count < MAX_CHUNKS => Ok(Self::Huge(count as u32)),
                _ => Err(AllocError::TooLarge),
            },
        }
    }
}

impl<S: ChunkSource> Worker<'_, S> {
    #[inline]
    pub(super) fn alloc_slow(
        &self,
        size: usize,
        effort: Effort,
    ) -> Result<NonNull<u8>, AllocError> {
        let (address, extent) = match Request::of(size)? {
            Request::Block(order) => {
                let (address, extent) = self.find_block(self.extent(size, order), effort)?;
                (address, Some(extent))
            }
            Request::Huge(count) => (self.take_huge(count, effort)?.address, None),
        };
        Ok(self.hand_out(Block { address, extent }, size))
    }

    /// What `size` bytes, which are of `order`, get. In checking mode, and where a cache serves them,
    /// that is a whole block.
    pub(super) fn extent(&self, size: usize, order: u32) -> Extent {
        let config = &self.header.config;
        if order < config.cached_orders.get() || config.checking.get() != 0 {
            return Extent::whole(order);
        }
        Extent::needed(clamp(size), order)
    }

    /// A block of `extent`; of a larger order where the heap is locked, this context may not wait, and a
    /// cache has one. It looks there before it spins for long: who holds the lock may have ended.
    /// Calls in constant time do not, since what they would find was reserved for other sizes.
    fn find_block(&self, extent: Extent, effort: Effort) -> Result<(u32, Extent), AllocError> {
        let order = extent.order();
        let find = |patience| -> Result<u32, AllocError> {
            let effort = Effort { patience, ..effort };
            match self.refill_and_pop(order, effort)? {
                Some(address) => Ok(address),
                None => Ok(self.take_direct(extent, effort)?.address),
            }
        };
        if effort.patience != Patience::Spin {
            return Ok((find(effort.patience)?, extent));
        }
        match find(Patience::Soon) {
            Err(AllocError::Busy) => match self.pop_larger(order) {
                Some((address, larger)) => Ok((address, Extent::whole(larger))),
                None => Ok((find(Patience::Spin)?, extent)),
            },
            found => Ok((found?, extent)),
        }
    }

    /// An object of the next larger order that this worker's cache or a transfer cache has, and that
    /// order.
    #[cold]
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    fn pop_larger(&self, order: u32) -> Option<(u32, u32)> {
        (order + 1..MAX_CACHED_ORDERS).find_map(|larger| {
            let lifo = self.stack(larger)?;
            if lifo.fill() == 0 {
                self.refill_from_transfer(lifo, larger);
            }
            let address = self.pop(lifo, larger)?;
            Some((address, larger))
        })
    }

    pub(super) fn pop(&self, lifo: &Lifo, order: u32) -> Option<u32> {
        lifo.pop(self.memory, |address| {
            self.mark(address, BlockState::Allocated, order);
        })
    }

    /// The stack of `order`, if that is cached.
    pub(super) fn stack(&self, order: u32) -> Option<&Lifo> {
        let stack = self.slot.stacks(self.memory).get(order as usize);
        stack.filter(|lifo| lifo.is_cached())
    }

    /// One block of `extent` out of the heap, counted as such.
    pub(super) fn take_direct(&self, extent: Extent, effort: Effort) -> Result<Taken, AllocError> {
        self.take_direct_aligned(extent, extent.order(), effort)
    }

    /// One block of `extent` out of the heap, aligned as one of order `alignment` is.
    pub(super) fn take_direct_aligned(
        &self,
        extent: Extent,
        alignment: u32,
        effort: Effort,
    ) -> Result<Taken, AllocError> {
        let taken = self.take(effort, |heap| heap.take_aligned(extent, alignment))?;
        let traffic = self.slot.traffic(extent.order());
        traffic.direct_allocations.add(1);
        Ok(taken)
    }

    /// A run of `count` chunks.
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    pub(super) fn take_huge(&self, count: u32, effort: Effort) -> Result<Taken, AllocError> {
        if !effort.grow {
            // A run is growth, whether of the memory or of the arena's part of it.
            return Err(AllocError::OutOfMemory);
        }
        let mut heap = self.heap(effort.patience)?;
        if let Some(taken) = heap.take_huge(self.source, count) {
            return Ok(taken);
        }
        drop(heap);
        self.gather(effort)?;
        self.heap(effort.patience)?
            .take_huge(self.source, count)
            .ok_or(AllocError::OutOfMemory)
    }

    #[inline]
    pub(super) fn free_slow(&self, pointer: *mut u8, patience: Patience) -> Result<(), FreeError> {
        if pointer.is_null() {
            return Ok(());
        }
        self.free_found(pointer, patience)
            .unwrap_or_else(|| Err(self.refuse(pointer)))
    }

    /// Frees an allocated block; `None` when there is none at `pointer`, for whoever needs to know why
    /// to ask.
    #[inline(never)]
    pub(crate) fn free_found(
        &self,
        pointer: *mut u8,
        patience: Patience,
    ) -> Option<Result<(), FreeError>> {
        let block = self.block_at(pointer)?;
        if let Some(checked) = self.slot.checked(self.memory) {
            let release = |block| self.release(block, patience);
            return Some(self.free_checked(checked, block, release));
        }
        if let Some(order) = block.whole_order()
            && let Some(lifo) = self.stack(order)
            && self.make_room(lifo, order, patience).is_ok()
            && lifo.push(self.memory, block.address)
        {
            self.mark(block.address, BlockState::Cached, order);
            return Some(Ok(()));
        }
        match self.heap(patience) {
            Ok(mut heap) => self.free_locked(&mut heap, pointer)?,
            Err(Busy) => self.defer(block),
        }
        Some(Ok(()))
    }

    /// Takes a block out of the heap by `take`; grows by a chunk if there is none, and gathers
    /// what the caches hold if it cannot grow.
    pub(super) fn take(
        &self,
        effort: Effort,
        take: impl Fn(&mut Heap<'_>) -> Option<Taken>,
    ) -> Result<Taken, AllocError> {
        let mut heap = self.heap(effort.patience)?;
        if let Some(taken) = take(&mut heap) {
            return Ok(taken);
        }
        if effort.grow && heap.grow(self.source).is_some() {
            return take(&mut heap).ok_or(AllocError::OutOfMemory);
        }
        drop(heap);
        self.gather(effort)?;
        take(&mut self.heap(effort.patience)?).ok_or(AllocError::OutOfMemory)
    }

    /// Returns what this worker and the transfer caches hold to the heap. Takes the heap lock
    /// first, then that of a transfer cache, whose holders want no other: an object that is taken
    /// out always has somewhere to go. Waits for either with no lock in hand. Not for constant time:
    /// does nothing then.
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    fn gather(&self, effort: Effort) -> Result<(), Busy> {
        if effort.patience == Patience::Try {
            return Ok(());
        }
        let mut heap = self.heap(effort.patience)?;
        self.flush_locked(&mut heap);
        drop(heap);
        for (order, transfer) in (0..).zip(&self.header.transfers) {
            let entries = transfer.entries(self.memory);
            while transfer.count.get() > 0 {
                const AT_ONCE: u32 = 64;
                let mut given = [0; AT_ONCE as usize];
                let mut addresses = given.iter_mut();
                let mut heap = self.heap(effort.patience)?;
                let agent = Agent::current();
                let given_up = transfer.give_up_to(entries, AT_ONCE, agent, |address| {
                    // SAFETY: out of the transfer cache, of its order, and nobody's.
                    unsafe { heap.give(address, order) };
                    if let Some(noted) = addresses.next() {
                        *noted = address;
                    }
                });
                if given_up.is_err() {
                    drop(heap);
                    transfer.wait_until_free(agent, effort.patience)?;
                    continue;
                }
                // Behind the transfer cache's lock: a chunk source may call this worker back.
                for &address in given.iter().filter(|&&address| address != 0) {
                    heap.trim(self.source, address);
                }
            }
        }
        Ok(())
    }

    /// Frees an allocated block to the heap, whatever its order; `None` when there is none.
    fn free_locked(&self, heap: &mut Heap<'_>, pointer: *mut u8) -> Option<()> {
        // Checked under the lock: a block of an uncached order is only ever freed here, so two
        // workers that free one at the same moment are told apart.
        let block = self.block_at(pointer)?;
        self.release_locked(heap, block);
        Some(())
    }

    /// Gives an allocated block, or one that checking mode claimed, to the heap.
    #[inline]
    pub(super) fn release_locked(&self, heap: &mut Heap<'_>, block: Block) {
        match block.extent {
            Some(extent) => {
                self.give(heap, block.address, extent);
                let traffic = self.slot.traffic(extent.order());
                traffic.direct_frees.add(1);
            }
            None => {
                // SAFETY: a huge block, checked under the lock or claimed, which is now nobody's.
                unsafe { heap.give_huge(self.source, block.address, 0) };
                self.let_go(block.address);
            }
        }
    }

    /// Leaves a checked block to the next holder of the heap lock.
    pub(super) fn defer(&self, block: Block) {
        let address = block.address;
        let central = &self.header.central;
        let units = match block.extent {
            Some(extent) => extent.units(),
            None => central.table.run_chunks(address).get() * CHUNK_UNITS,
        };
        let mark = || {
            match block.extent {
                // SAFETY: the block is this worker's, which frees it.
                Some(extent) => unsafe { map_byte(self.memory, address) }
                    .set(extent_byte(BlockState::Deferred, extent)),
                None => central.table.set_kind(address, ChunkKind::HugeDeferred),
            }
            self.let_go(address);
        };
        self.slot.deferring.defer(address, units, mark, || {
            central.deferred.push(address, |next| {
                // SAFETY: the block was allocated, is freed by this call, and is at least 16 bytes.
                unsafe { self.memory.at::<PlainU32>(address) }.set(next);
            });
        });
    }

    fn give(&self, heap: &mut Heap<'_>, address: u32, extent: Extent) {
        // SAFETY: the object was checked to be allocated, or claimed: out of the heap, of `extent`,
        // and now nobody's.
        unsafe { heap.give_extent(address, extent) };
        self.let_go(address);
        heap.trim(self.source, address);
    }
}
