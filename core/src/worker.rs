//! A worker: an agent that sits in a slot, and every call that allocates or frees.
//!
//! The paths of an allocation, from the nearest layer to the farthest; each is tried only when
//! the one before had nothing, and everything behind the first is out of line:
//!
//! 1. **hit**: pop the slot's own stack.
//! 2. **refill**: a batch from the transfer cache of the order, else from the central heap out of
//!    the chunks that there are, and pop.
//! 3. **direct**: one block from the central heap, which grows by a chunk if it must.
//! 4. **last resort**: return what this worker and the transfer caches hold to the heap, so that
//!    it coalesces, and try once more.
//!
//! A free looks at its chunk's byte in the table and at the block's byte in the map, which
//! together prove that the pointer is an allocated block of this arena, then pushes it; a full
//! stack first spills a batch to the transfer cache, or to the heap when that is full or busy.
//!
//! **Ordering of block bytes.** A block's byte is written by its owner. Ownership passes from
//! worker to worker through the transfer cache or the heap, whose locks order the writes, or
//! through the program, which must order its own hand-over of a pointer anyway. Two workers that
//! free one object at the same moment both break that rule: both may find it allocated, and both
//! push it. [`Arena::verify`](crate::Arena::verify) names such an object ("two places hold …").

use crate::cache::slot::Slot;
use crate::config::MAX_CACHED_ORDERS;
use crate::error::{AllocError, Busy, FreeError};
use crate::header::Header;
use crate::heap::block::{BlockState, allocated_order, block_byte, block_state};
use crate::heap::block_map::{enclosing_block, map_byte};
use crate::heap::central::Heap;
use crate::lock::Owner;
use crate::memory::Memory;
use crate::order::{MAX_ORDER, UNIT_BYTES, block_bytes, order_of};
use crate::source::ChunkSource;
use crate::sync::PlainU32;
use core::cell::Cell;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

/// An agent attached to an arena. Detaches when dropped: what it caches goes back to the heap.
///
/// It may move to another thread, but only one thread at a time uses it.
pub struct Worker<'a, S: ChunkSource> {
    memory: Memory,
    slot: &'a Slot,
    header: &'a Header,
    source: &'a S,
    /// One thread at a time: the slot's stacks have no lock.
    _not_sync: PhantomData<Cell<()>>,
}

impl<'a, S: ChunkSource> Worker<'a, S> {
    /// The worker that sits in the slot at `slot` of the source's memory.
    ///
    /// # Safety
    ///
    /// The slot is attached, its arena lives for `'a`, and no other `Worker` value is used for
    /// it at the same time.
    pub unsafe fn at(source: &'a S, slot: u32) -> Self {
        let memory = source.memory();
        // SAFETY: the caller promises a slot there, and a slot knows its header.
        let (slot, header) = unsafe {
            let slot: &Slot = memory.at(slot);
            (slot, memory.at(slot.header.get()))
        };
        Self {
            memory,
            slot,
            header,
            source,
            _not_sync: PhantomData,
        }
    }

    /// The slot's address, by which [`Worker::at`] finds it again; the slot stays attached.
    pub fn into_address(self) -> u32 {
        ManuallyDrop::new(self).slot_address()
    }

    /// The slot's number, from 0.
    pub fn slot(&self) -> u32 {
        self.slot.number.get()
    }

    /// Allocates at least `size` bytes, 1 ..= 524,288, at a multiple of the size rounded up to a
    /// power of two (at least 16). The bytes are whatever was there before.
    ///
    /// A hit takes no lock. A miss may wait for one where the context allows, and may grow the
    /// memory by a chunk.
    #[inline]
    pub fn alloc(&self, size: usize) -> Result<NonNull<u8>, AllocError> {
        let order = order_of(clamp(size));
        if order < MAX_CACHED_ORDERS
            && let Some(address) = self.slot.lifos[order as usize].pop(self.memory)
        {
            self.mark(address, BlockState::Allocated, order);
            return Ok(self.pointer(address));
        }
        self.alloc_slow(size)
    }

    /// Frees what `alloc` or `alloc_bulk` returned, from whichever worker. A null pointer is
    /// nobody's and freeing it does nothing.
    ///
    /// Every other pointer that is not an allocated block of this arena is refused with an error
    /// that says what it is; it is never written through, and nothing is changed.
    #[inline]
    pub fn free(&self, pointer: *mut u8) -> Result<(), FreeError> {
        if let Some(address) = self.memory.address(pointer)
            && self.header.chunks.owns(address)
            && address % UNIT_BYTES == 0
        {
            // SAFETY: the chunk table says that the address lies in a chunk of the arena.
            let byte = unsafe { map_byte(self.memory, address) };
            let order = allocated_order(byte.get());
            if order < MAX_CACHED_ORDERS
                && self.slot.lifos[order as usize].push(self.memory, address)
            {
                byte.set(block_byte(BlockState::Cached, order));
                return Ok(());
            }
        }
        self.free_slow(pointer)
    }

    /// Allocates `1 << n_order` objects of at least `size` bytes each, cut from one block of that
    /// many times the size, and writes them to `out`, lowest first at a constant stride. Each can
    /// be freed on its own. Bypasses the caches; may grow the memory by a chunk.
    pub fn alloc_bulk(
        &self,
        size: usize,
        n_order: u32,
        out: &mut [*mut u8],
    ) -> Result<(), AllocError> {
        let order = self.order(size)?;
        if n_order > MAX_ORDER - order {
            return Err(AllocError::TooLarge);
        }
        let out = out.get_mut(..1 << n_order).ok_or(AllocError::ShortArray)?;
        let first = self.take(|heap| heap.take_bulk(order, n_order))?;
        for (index, object) in (0..).zip(out) {
            *object = self.memory.pointer(first + index * block_bytes(order));
        }
        Ok(())
    }

    /// Frees every pointer of the array under one taking of the heap lock, bypassing the caches.
    /// Null pointers are passed over; each that is refused is reported to `refused` with its
    /// index, and does not keep the others from being freed. Returns how many were freed. Fails,
    /// with nothing freed, only when the lock cannot be taken.
    pub fn free_bulk(
        &self,
        pointers: &[*mut u8],
        mut refused: impl FnMut(usize, FreeError),
    ) -> Result<usize, Busy> {
        let mut heap = self.heap()?;
        let mut freed = 0;
        for (index, &pointer) in pointers.iter().enumerate().filter(|(_, p)| !p.is_null()) {
            match self.free_locked(&mut heap, pointer) {
                Ok(()) => freed += 1,
                Err(error) => refused(index, error),
            }
        }
        Ok(freed)
    }

    /// Returns everything that this worker's cache holds to the central heap.
    pub fn flush(&self) -> Result<(), Busy> {
        let mut heap = self.heap()?;
        self.flush_locked(&mut heap);
        Ok(())
    }

    /// Gives the slot up: what it caches goes back to the heap, and the next worker that
    /// attaches may sit there. Dropping does the same, but cannot say that the lock was busy.
    pub fn detach(self) -> Result<(), (Busy, Self)> {
        match self.detach_slot() {
            Ok(()) => {
                let _ = ManuallyDrop::new(self);
                Ok(())
            }
            Err(busy) => Err((busy, self)),
        }
    }

    fn detach_slot(&self) -> Result<(), Busy> {
        let mut heap = self.heap()?;
        self.flush_locked(&mut heap);
        self.header
            .slots
            .give(&mut heap, self.slot_address(), self.slot);
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn alloc_slow(&self, size: usize) -> Result<NonNull<u8>, AllocError> {
        let order = self.order(size)?;
        if let Some(lifo) = self.slot.lifos.get(order as usize)
            && lifo.is_cached()
        {
            self.refill(order)?;
            if let Some(address) = lifo.pop(self.memory) {
                self.mark(address, BlockState::Allocated, order);
                return Ok(self.pointer(address));
            }
        }
        let address = self.take(|heap| heap.take(order))?;
        self.slot.traffic[order as usize].direct_allocations.add(1);
        Ok(self.pointer(address))
    }

    #[cold]
    #[inline(never)]
    fn free_slow(&self, pointer: *mut u8) -> Result<(), FreeError> {
        if pointer.is_null() {
            return Ok(());
        }
        let (address, order) = self.check(pointer)?;
        if let Some(lifo) = self.slot.lifos.get(order as usize)
            && lifo.is_cached()
        {
            self.spill(order)?;
            if lifo.push(self.memory, address) {
                self.mark(address, BlockState::Cached, order);
                return Ok(());
            }
        }
        let mut heap = self.heap()?;
        self.free_locked(&mut heap, pointer)
    }

    /// Fills the empty stack of `order` with a batch out of what there is, if there is any.
    fn refill(&self, order: u32) -> Result<(), Busy> {
        let lifo = &self.slot.lifos[order as usize];
        let traffic = &self.slot.traffic[order as usize];
        let entries = lifo.entries(self.memory);
        let batch = &entries[..self.header.config.batch.get() as usize];
        let transfer = &self.header.transfers[order as usize];
        let cached = |address| self.mark(address, BlockState::Cached, order);
        let filled = if transfer.take(transfer.entries(self.memory), batch, self.owner(), cached) {
            traffic.refills_from_transfer.add(1);
            batch.len() as u32
        } else {
            let mut free = batch.iter();
            let mut heap = self.heap()?;
            let count = batch.len() as u32;
            let filled = heap.take_batch(order, count, BlockState::Cached, |address| {
                if let Some(entry) = free.next() {
                    entry.set(address);
                }
            });
            if filled > 0 {
                traffic.refills_from_heap.add(1);
            }
            filled
        };
        traffic.objects_in.add(filled.into());
        lifo.set_fill(filled);
        Ok(())
    }

    /// Makes room in the full stack of `order` by moving its top batch out.
    fn spill(&self, order: u32) -> Result<(), Busy> {
        let lifo = &self.slot.lifos[order as usize];
        let traffic = &self.slot.traffic[order as usize];
        let fill = lifo.fill();
        let batch = self.header.config.batch.get().min(fill);
        let left = fill - batch;
        let objects = &lifo.entries(self.memory)[left as usize..fill as usize];
        let transfer = &self.header.transfers[order as usize];
        let in_transfer = |address| self.mark(address, BlockState::InTransfer, order);
        let entries = transfer.entries(self.memory);
        if transfer.put(entries, objects, self.owner(), in_transfer) {
            traffic.spills_to_transfer.add(1);
        } else {
            let mut heap = self.heap()?;
            self.give_all(&mut heap, objects, order);
            traffic.spills_to_heap.add(1);
        }
        traffic.objects_out.add(batch.into());
        lifo.set_fill(left);
        Ok(())
    }

    /// Takes a block out of the heap by `take`; grows by a chunk if there is none, and gathers
    /// what the caches hold if it cannot grow.
    fn take(&self, take: impl Fn(&mut Heap<'_>) -> Option<u32>) -> Result<u32, AllocError> {
        let mut heap = self.heap()?;
        if let Some(address) = take(&mut heap) {
            return Ok(address);
        }
        if heap.grow(self.source).is_some() {
            return take(&mut heap).ok_or(AllocError::OutOfMemory);
        }
        self.flush_locked(&mut heap);
        drop(heap);
        self.drain_transfers()?;
        take(&mut self.heap()?).ok_or(AllocError::OutOfMemory)
    }

    /// Returns everything that the transfer caches hold to the heap. Takes the heap lock first,
    /// then that of the transfer cache, whose holders want no other: an object that is taken out
    /// always has somewhere to go.
    fn drain_transfers(&self) -> Result<(), Busy> {
        for (order, transfer) in (0..).zip(&self.header.transfers) {
            let entries = transfer.entries(self.memory);
            while transfer.count.get() > 0 {
                const AT_ONCE: usize = 64;
                let mut objects = [0; AT_ONCE];
                let mut heap = self.heap()?;
                let taken = transfer.take_up_to(
                    entries,
                    &mut objects,
                    self.owner(),
                    self.slot.context(),
                )?;
                for &address in &objects[..taken] {
                    self.give(&mut heap, address, order);
                }
            }
        }
        Ok(())
    }

    /// Frees an allocated block to the heap, whatever its order.
    fn free_locked(&self, heap: &mut Heap<'_>, pointer: *mut u8) -> Result<(), FreeError> {
        // Checked under the lock: a block of an uncached order is only ever freed here, so two
        // workers that free one at the same moment are told apart.
        let (address, order) = self.check(pointer)?;
        self.give(heap, address, order);
        self.slot.traffic[order as usize].direct_frees.add(1);
        Ok(())
    }

    fn flush_locked(&self, heap: &mut Heap<'_>) {
        for (order, lifo) in (0..).zip(&self.slot.lifos) {
            let fill = lifo.fill();
            self.give_all(heap, &lifo.entries(self.memory)[..fill as usize], order);
            self.slot.traffic[order as usize]
                .objects_out
                .add(fill.into());
            lifo.set_fill(0);
        }
    }

    fn give_all(&self, heap: &mut Heap<'_>, objects: &[PlainU32], order: u32) {
        for object in objects {
            self.give(heap, object.get(), order);
        }
    }

    fn give(&self, heap: &mut Heap<'_>, address: u32, order: u32) {
        // SAFETY: the object was in this worker's cache, or taken out of a transfer cache, or
        // checked to be allocated: out of the heap, of `order`, and now nobody's.
        unsafe { heap.give(address, order) };
        heap.trim(self.source, address);
    }

    /// The address and order of an allocated block, or what else the pointer is.
    fn check(&self, pointer: *mut u8) -> Result<(u32, u32), FreeError> {
        let address = self
            .memory
            .address(pointer)
            .filter(|&address| self.header.chunks.owns(address))
            .ok_or(FreeError::Foreign)?;
        if address % UNIT_BYTES != 0 {
            return Err(FreeError::Unaligned);
        }
        // SAFETY: the chunk table says that the address lies in a chunk of the arena.
        let byte = unsafe { map_byte(self.memory, address) }.get();
        let order = allocated_order(byte);
        if order <= MAX_ORDER {
            return Ok((address, order));
        }
        Err(match block_state(byte) {
            Some(BlockState::Interior) | None => self.enclosing_error(address),
            Some(state) => state_error(state),
        })
    }

    /// What an address inside a block is: only a live block makes it an interior pointer.
    fn enclosing_error(&self, address: u32) -> FreeError {
        // SAFETY: the caller found the address in a chunk of the arena.
        match unsafe { enclosing_block(self.memory, address) } {
            Some((_, BlockState::Allocated)) => FreeError::Interior,
            Some((_, state)) => state_error(state),
            None => FreeError::NotAllocated,
        }
    }

    fn order(&self, size: usize) -> Result<u32, AllocError> {
        match (size, order_of(clamp(size))) {
            (0, _) => Err(AllocError::ZeroSize),
            (_, order) if order > MAX_ORDER => Err(AllocError::TooLarge),
            (_, order) => Ok(order),
        }
    }

    fn heap(&self) -> Result<Heap<'a>, Busy> {
        self.header
            .heap(self.memory, self.owner(), self.slot.context())
    }

    fn owner(&self) -> Owner {
        Owner::slot(self.slot.number.get())
    }

    fn slot_address(&self) -> u32 {
        self.memory
            .address(core::ptr::from_ref(self.slot))
            .unwrap_or(0)
    }

    #[inline(always)]
    fn mark(&self, address: u32, state: BlockState, order: u32) {
        // SAFETY: the address is that of a block of the arena that this worker owns now.
        unsafe { map_byte(self.memory, address) }.set(block_byte(state, order));
    }

    #[inline(always)]
    fn pointer(&self, address: u32) -> NonNull<u8> {
        // SAFETY: no block starts at address 0, and the memory's base is not null.
        unsafe { NonNull::new_unchecked(self.memory.pointer(address)) }
    }
}

impl<S: ChunkSource> Drop for Worker<'_, S> {
    fn drop(&mut self) {
        // A context that may not wait can find the lock busy: the slot then stays attached, with
        // what it caches, until somebody reaps it. Nothing is lost, and `detach` reports it.
        let _ = self.detach_slot();
    }
}

/// A size as the order arithmetic takes it: sizes that 32 bits cannot hold become the largest.
#[inline(always)]
fn clamp(size: usize) -> u32 {
    size.try_into().unwrap_or(u32::MAX)
}

fn state_error(state: BlockState) -> FreeError {
    match state {
        BlockState::Metadata => FreeError::Metadata,
        BlockState::Cached => FreeError::Cached,
        BlockState::InTransfer => FreeError::InTransfer,
        BlockState::Deferred => FreeError::Deferred,
        BlockState::Interior | BlockState::Free | BlockState::Allocated => FreeError::NotAllocated,
    }
}
