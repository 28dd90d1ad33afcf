//! A worker: an agent that sits in a slot, and every call that allocates or frees.
//!
//! The paths of an allocation, from the nearest layer to the farthest; each is tried only when
//! the one before had nothing, and everything behind the first is out of line:
//!
//! 1. **hit**: pop the slot's own stack.
//! 2. **refill**: a batch from the transfer cache of the order, else from the central heap out of
//!    the chunks that there are, and pop.
//! 3. **direct**: one block from the central heap, which grows by a chunk if it must; what no
//!    chunk can hold is a huge block.
//! 4. **last resort**: return what this worker and the transfer caches hold to the heap, so that
//!    it coalesces, and try once more.
//!
//! A free looks at its chunk's byte in the table and at the block's byte in the map, which
//! together prove that the pointer is an allocated block of this arena, then pushes it; a full
//! stack first spills a batch to the transfer cache, or to the heap when that is full or busy. A
//! free that cannot take the heap lock is deferred.
//!
//! | file | holds |
//! | --- | --- |
//! | this one | the handle, the hits, the no-wait calls, attaching's end |
//! | [`check`] | what a pointer is |
//! | [`checking`] | what checking mode adds |
//! | [`exchange`] | path 2, and what a full stack does |
//! | [`miss`] | paths 3 and 4, and frees behind a full stack |
//! | [`bulk`] | many objects at once |
//! | [`shape`] | zeroed, aligned, resized |
//!
//! **Ordering of block bytes.** A block's byte is written by its owner. Ownership passes from
//! worker to worker through the transfer cache, the deferred list or the heap, which order the
//! writes, or through the program, which must order its own hand-over of a pointer anyway. Two
//! workers that free one object at the same moment both break that rule: both may find it
//! allocated, and both push it. [`Arena::verify`](crate::Arena::verify) names such an object ("two
//! places hold …"), and checking mode refuses one of them.

mod bulk;
mod check;
mod checking;
mod exchange;
mod miss;
mod shape;

use crate::agent::Agent;
use crate::cache::slot::Slot;
use crate::config::MAX_CACHED_ORDERS;
use crate::error::{AllocError, Busy, FreeError};
use crate::header::Header;
use crate::heap::block::{BlockState, allocated_order, block_byte};
use crate::heap::block_map::map_byte;
use crate::heap::central::Heap;
use crate::lock::{Context, Patience};
use crate::memory::Memory;
use crate::order::{UNIT_BYTES, order_of};
use crate::source::ChunkSource;
use core::cell::Cell;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use miss::Effort;

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
    #[inline(always)]
    pub unsafe fn at(source: &'a S, slot: u32) -> Self {
        // SAFETY: the caller promises a slot there.
        Self::of(source, unsafe { source.memory().at(slot) })
    }

    /// The worker that sits in `slot` of the source's memory.
    #[inline(always)]
    fn of(source: &'a S, slot: &'a Slot) -> Self {
        let memory = source.memory();
        Self {
            memory,
            slot,
            // SAFETY: a slot knows the header of its arena, which lives as long.
            header: unsafe { memory.at(slot.header.get()) },
            source,
            _not_sync: PhantomData,
        }
    }

    /// The slot's address, by which [`Worker::at`] finds it again; the slot stays attached.
    pub fn into_address(self) -> u32 {
        ManuallyDrop::new(self).slot_address()
    }

    /// Says anew whether the agent may sleep for a lock.
    pub fn set_context(&self, context: Context) {
        self.slot.may_wait.set((context == Context::MayWait).into());
    }

    /// The slot's number, from 0.
    pub fn slot(&self) -> u32 {
        self.slot.number.get()
    }

    /// Allocates at least `size` bytes at a multiple of the size rounded up to a power of two (at
    /// least 16, at most 1 MiB). The bytes are whatever was there before. Above 512 KiB the size is
    /// rounded up to whole chunks of 1 MiB instead.
    ///
    /// A hit takes no lock. A miss may wait for one where the context allows, and may grow the
    /// memory.
    #[inline]
    pub fn alloc(&self, size: usize) -> Result<NonNull<u8>, AllocError> {
        match self.hit(size) {
            Some(object) => Ok(object),
            None => self.missed(size),
        }
    }

    /// [`alloc`](Self::alloc) behind a hit.
    #[inline(always)]
    pub(crate) fn missed(&self, size: usize) -> Result<NonNull<u8>, AllocError> {
        Self::miss(self.source, self.slot, size).object(self.memory)
    }

    /// [`alloc`](Self::alloc) out of the memory that the arena has: caches, transfer caches, free
    /// blocks; never grows it.
    pub fn alloc_nogrow(&self, size: usize) -> Result<NonNull<u8>, AllocError> {
        match self.hit(size) {
            Some(object) => Ok(object),
            None => self.alloc_slow(size, self.effort().without_growth()),
        }
    }

    /// [`alloc`](Self::alloc) in constant time, for code that must neither wait nor spin: the
    /// cache, one try of the transfer cache, one of the heap, without growth.
    /// [`reserve`](Self::reserve) beforehand makes sure that it finds something.
    pub fn alloc_nowait(&self, size: usize) -> Result<NonNull<u8>, AllocError> {
        match self.hit(size) {
            Some(object) => Ok(object),
            None => self.alloc_slow(size, Effort::NO_WAIT),
        }
    }

    #[inline(always)]
    pub(crate) fn hit(&self, size: usize) -> Option<NonNull<u8>> {
        let order = order_of(clamp(size));
        if order >= MAX_CACHED_ORDERS {
            return None;
        }
        let stack = &self.slot.lifos[order as usize];
        let address = stack.pop(self.memory, |address| {
            self.mark(address, BlockState::Allocated, order);
        })?;
        Some(self.pointer(address))
    }

    /// Frees what any worker allocated. A null pointer is nobody's and freeing it does nothing.
    ///
    /// Every other pointer that is not an allocated block of this arena is refused with an error
    /// that says what it is; it is never written through, and nothing is changed. A free that
    /// cannot have the heap lock, because its context may not wait or because it re-enters the
    /// allocator, is deferred, and succeeds.
    #[inline]
    pub fn free(&self, pointer: *mut u8) -> Result<(), FreeError> {
        if self.push(pointer) {
            return Ok(());
        }
        Self::no_push(self.source, self.slot, pointer)
    }

    /// [`free`](Self::free) of a pointer that is not null, without finding out why it is refused;
    /// whether it was freed.
    #[inline(never)]
    pub(crate) fn try_free(&self, pointer: *mut u8) -> bool {
        self.push(pointer)
            || matches!(
                self.free_found(pointer, self.effort().patience),
                Some(Ok(()))
            )
    }

    /// [`free`](Self::free) in constant time, for code that must neither wait nor spin.
    pub fn free_nowait(&self, pointer: *mut u8) -> Result<(), FreeError> {
        if self.push(pointer) {
            return Ok(());
        }
        self.free_slow(pointer, Patience::Try)
    }

    /// What [`alloc`](Self::alloc) does without a hit. Takes and returns single words, so that
    /// nothing of the caller's has to stand in memory for this call, which it rarely makes.
    #[cold]
    #[inline(never)]
    fn miss(source: &S, slot: &Slot, size: usize) -> Answer {
        // The seat is the caller's, and stays so.
        let worker = ManuallyDrop::new(Worker::of(source, slot));
        match worker.alloc_slow(size, worker.effort()) {
            Ok(object) => Answer(worker.memory.address(object.as_ptr()).unwrap_or(0)),
            Err(error) => Answer(error as u32),
        }
    }

    /// What [`free`](Self::free) does with a pointer that is not just pushed. Like
    /// [`miss`](Self::miss).
    #[cold]
    #[inline(never)]
    fn no_push(source: &S, slot: &Slot, pointer: *mut u8) -> Result<(), FreeError> {
        let worker = ManuallyDrop::new(Worker::of(source, slot));
        worker.free_slow(pointer, worker.effort().patience)
    }

    /// Puts an allocated block on its stack; `false` when it is none, or the stack is full.
    #[inline(always)]
    pub(crate) fn push(&self, pointer: *mut u8) -> bool {
        self.small_at(pointer)
            .is_some_and(|(address, order)| self.push_small(address, order))
    }

    /// The address and order of the allocated block at `pointer`, if there is one, of an order that may
    /// be cached.
    #[inline(always)]
    fn small_at(&self, pointer: *const u8) -> Option<(u32, u32)> {
        let address = self.memory.address(pointer)?;
        if !self.header.central.table.has_map(address) || address % UNIT_BYTES != 0 {
            return None;
        }
        // SAFETY: the chunk table says that the address lies in a chunk of the arena.
        let byte = unsafe { map_byte(self.memory, address) };
        let order = allocated_order(byte.get());
        (order < MAX_CACHED_ORDERS).then_some((address, order))
    }

    #[inline(always)]
    fn push_small(&self, address: u32, order: u32) -> bool {
        let pushed = self.slot.lifos[order as usize].push(self.memory, address);
        if pushed {
            self.mark(address, BlockState::Cached, order);
        }
        pushed
    }

    /// Returns everything that this worker's cache holds to the central heap.
    pub fn flush(&self) -> Result<(), Busy> {
        let mut heap = self.heap(self.effort().patience)?;
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
        let mut heap = self.heap(self.effort().patience)?;
        self.flush_locked(&mut heap);
        self.header
            .slots
            .give(&mut heap, self.slot_address(), self.slot);
        Ok(())
    }

    /// What a call of this worker's context takes on itself.
    fn effort(&self) -> Effort {
        Effort {
            patience: self.slot.context().into(),
            grow: true,
        }
    }

    fn heap(&self, patience: Patience) -> Result<Heap<'a>, Busy> {
        self.header.heap(self.source, Agent::current(), patience)
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
        // What is killed runs no destructor.
        #[cfg(all(feature = "death", not(target_family = "wasm")))]
        if crate::death::is_over() {
            return;
        }
        // A context that may not wait can find the lock busy: the slot then stays attached, with
        // what it caches, until somebody reaps it. Nothing is lost, and `detach` reports it.
        let _ = self.detach_slot();
    }
}

/// An object's address; below [`UNIT_BYTES`], where no object is, the number of an error.
struct Answer(u32);

impl Answer {
    #[inline(always)]
    fn object(self, memory: Memory) -> Result<NonNull<u8>, AllocError> {
        if self.0 < UNIT_BYTES {
            return Err(AllocError::numbered(self.0));
        }
        // SAFETY: an object's address, which is not 0, and the memory's base is not null.
        Ok(unsafe { NonNull::new_unchecked(memory.pointer(self.0)) })
    }
}

/// A size as the order arithmetic takes it: sizes that 32 bits cannot hold become the largest.
#[inline(always)]
fn clamp(size: usize) -> u32 {
    size.try_into().unwrap_or(u32::MAX)
}
