//! Everything behind a hit: refill and spill, the central heap, growth, the last resort, and frees
//! that are deferred.

use super::check::Block;
use super::{Worker, clamp};
use crate::agent::Agent;
use crate::cache::lifo::Lifo;
use crate::config::MAX_CACHED_ORDERS;
use crate::error::{AllocError, Busy, FreeError};
use crate::heap::block::BlockState;
use crate::heap::block_map::ChunkKind;
use crate::heap::central::{Heap, Taken};
use crate::lock::Patience;
use crate::order::{CHUNK_BYTES, CHUNK_UNITS, MAX_CHUNKS, MAX_ORDER, block_units, order_of};
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
    /// The order of a block, `None` for a run.
    pub(super) fn order(&self) -> Option<u32> {
        match *self {
            Self::Block(order) => Some(order),
            Self::Huge(_) => None,
        }
    }

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
        let (address, order) = match Request::of(size)? {
            Request::Block(order) => {
                let (address, order) = self.find_block(order, effort)?;
                (address, Some(order))
            }
            Request::Huge(count) => (self.take_huge(count, effort)?.address, None),
        };
        Ok(self.hand_out(Block { address, order }, size))
    }

    /// A block of `order`; of a larger one where the heap is locked, this context may not wait, and a
    /// cache has one. It looks there before it spins for long: who holds the lock may have ended.
    /// Calls in constant time do not, since what they would find was reserved for other sizes.
    fn find_block(&self, order: u32, effort: Effort) -> Result<(u32, u32), AllocError> {
        let find = |patience| -> Result<u32, AllocError> {
            let effort = Effort { patience, ..effort };
            match self.refill_and_pop(order, effort)? {
                Some(address) => Ok(address),
                None => Ok(self
                    .take_direct(order, effort, |heap| heap.take(order))?
                    .address),
            }
        };
        if effort.patience != Patience::Spin {
            return Ok((find(effort.patience)?, order));
        }
        match find(Patience::Soon) {
            Err(AllocError::Busy) => match self.pop_larger(order) {
                Some(larger) => Ok(larger),
                None => Ok((find(Patience::Spin)?, order)),
            },
            found => Ok((found?, order)),
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

    fn pop(&self, lifo: &Lifo, order: u32) -> Option<u32> {
        lifo.pop(self.memory, |address| {
            self.mark(address, BlockState::Allocated, order);
        })
    }

    /// The stack of `order`, if that is cached.
    pub(super) fn stack(&self, order: u32) -> Option<&Lifo> {
        let stack = self.slot.stacks(self.memory).get(order as usize);
        stack.filter(|lifo| lifo.is_cached())
    }

    /// An object of a cached order, by way of the stack. `None` when the order is not cached, or
    /// nothing of it is left for a batch.
    pub(super) fn refill_and_pop(
        &self,
        order: u32,
        effort: Effort,
    ) -> Result<Option<u32>, AllocError> {
        let Some(lifo) = self.stack(order) else {
            return Ok(None);
        };
        if lifo.fill() == 0 {
            self.refill(lifo, order, effort.patience)?;
        }
        Ok(self.pop(lifo, order))
    }

    /// One block of `order` out of the heap, counted as such.
    pub(super) fn take_direct(
        &self,
        order: u32,
        effort: Effort,
        take: impl Fn(&mut Heap<'_>) -> Option<Taken>,
    ) -> Result<Taken, AllocError> {
        let taken = self.take(effort, take)?;
        self.slot.traffic(order).direct_allocations.add(1);
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
        if let Some(order) = block.order
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

    /// Fills the empty stack of `order` with a batch out of what there is, if there is any.
    fn refill(&self, lifo: &Lifo, order: u32, patience: Patience) -> Result<(), Busy> {
        if self.refill_from_transfer(lifo, order) {
            return Ok(());
        }
        let mut heap = self.heap(patience)?;
        if lifo.fill() > 0 {
            // Taking the lock drains deferred frees, and a chunk source that is given a chunk
            // back by that may have freed objects into this stack.
            return Ok(());
        }
        let wanted = self.header.config.batch.get();
        let filled = self.fill_from_heap(&mut heap, lifo, order, wanted);
        if filled > 0 {
            let traffic = self.slot.traffic(order);
            traffic.refills_from_heap.add(1);
            traffic.objects_in.add(filled.into());
        }
        Ok(())
    }

    /// Fills the empty stack of `order` with a batch from the transfer cache; whether it had one.
    fn refill_from_transfer(&self, lifo: &Lifo, order: u32) -> bool {
        let wanted = self.header.config.batch.get();
        let (Some(transfer), Some(batch)) = (
            self.header.transfers.get(order as usize),
            lifo.entries(self.memory).get(..wanted as usize),
        ) else {
            return false;
        };
        let entries = transfer.entries(self.memory);
        let cached = |address| self.mark(address, BlockState::Cached, order);
        let keep = || lifo.set_fill(wanted);
        let filled = transfer.take(entries, batch, Agent::current(), cached, keep);
        if filled {
            let traffic = self.slot.traffic(order);
            traffic.refills_from_transfer.add(1);
            traffic.objects_in.add(wanted.into());
        }
        filled
    }

    /// Pushes up to `count` free objects of `order` out of the heap onto their stack, which has room
    /// for them; how many there were.
    fn fill_from_heap(&self, heap: &mut Heap<'_>, lifo: &Lifo, order: u32, count: u32) -> u32 {
        heap.take_batch(order, count, BlockState::Cached, |address| {
            let pushed = lifo.push(self.memory, address);
            debug_assert!(pushed);
        })
    }

    /// Fills this worker's cache until the next `count` allocations of `size` bytes are hits: at
    /// most as many as the cache holds when it is widest. Grows the memory as needed, and may wait where the context
    /// allows. Fails when the size is not cached, the count is above that, or memory runs
    /// out; what was found by then stays cached.
    pub fn reserve(&self, size: usize, count: usize) -> Result<(), AllocError> {
        let Request::Block(order) = Request::of(size)? else {
            return Err(AllocError::TooLarge);
        };
        let lifo = self.stack(order).ok_or(AllocError::NotCached)?;
        let count = u32::try_from(count).map_err(|_| AllocError::NotCached)?;
        if count > lifo.capacity() && !lifo.resize(count) {
            return Err(AllocError::NotCached);
        }
        let effort = self.effort();
        while lifo.fill() < count {
            let mut heap = self.heap(effort.patience)?;
            // Read under the lock: a chunk source that is called back may use this very stack.
            let wanted = count.saturating_sub(lifo.fill());
            let filled = self.fill_from_heap(&mut heap, lifo, order, wanted);
            let traffic = self.slot.traffic(order);
            traffic.objects_in.add(filled.into());
            if wanted > 0 && filled == 0 && heap.grow(self.source).is_none() {
                return Err(AllocError::OutOfMemory);
            }
        }
        Ok(())
    }

    /// Makes room in the full stack of `order`: by widening it, else by moving its top batch out.
    #[inline(always)]
    pub(super) fn make_room(
        &self,
        lifo: &Lifo,
        order: u32,
        patience: Patience,
    ) -> Result<(), Busy> {
        if lifo.widen() {
            return Ok(());
        }
        let config = &self.header.config;
        let only_fills = lifo.only_fills(config.batch.get());
        let (wide, usual) = (lifo.capacity(), config.capacity.get());
        if only_fills && wide > usual {
            return self.narrow(lifo, order, usual.max(wide / 2), patience);
        }
        self.spill(lifo, order, patience)
    }

    /// Makes the wide stack of `order` one of `capacity` objects, and gives what is above to the heap.
    #[cold]
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    fn narrow(
        &self,
        lifo: &Lifo,
        order: u32,
        capacity: u32,
        patience: Patience,
    ) -> Result<(), Busy> {
        let mut heap = self.heap(patience)?;
        // One more than that, for the object that room is made for.
        let above = lifo.fill().saturating_sub(capacity - 1);
        self.give_top(&mut heap, lifo, order, above);
        // A chunk source that is given a chunk back may have freed objects into the stack.
        if lifo.fill() < capacity {
            lifo.resize(capacity);
        }
        self.slot.traffic(order).spills_to_heap.add(1);
        Ok(())
    }

    /// Moves the top batch of the full stack of `order` out.
    #[inline(always)]
    fn spill(&self, lifo: &Lifo, order: u32, patience: Patience) -> Result<(), Busy> {
        let traffic = self.slot.traffic(order);
        let fill = lifo.fill();
        let batch = self.header.config.batch.get().min(fill);
        let left = fill - batch;
        let (Some(transfer), Some(objects)) = (
            self.header.transfers.get(order as usize),
            lifo.entries(self.memory).get(left as usize..fill as usize),
        ) else {
            return Ok(());
        };
        let in_transfer = |address| self.mark(address, BlockState::InTransfer, order);
        let entries = transfer.entries(self.memory);
        let let_go = || lifo.set_fill(left);
        if transfer.put(entries, objects, Agent::current(), in_transfer, let_go) {
            traffic.spills_to_transfer.add(1);
            traffic.objects_out.add(batch.into());
        } else {
            let mut heap = self.heap(patience)?;
            self.give_top(&mut heap, lifo, order, batch);
            traffic.spills_to_heap.add(1);
        }
        Ok(())
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
        match block.order {
            Some(order) => {
                self.give(heap, block.address, order);
                self.slot.traffic(order).direct_frees.add(1);
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
        let units = match block.order {
            Some(order) => block_units(order),
            None => central.table.run_chunks(address).get() * CHUNK_UNITS,
        };
        let mark = || {
            match block.order {
                Some(order) => self.mark(address, BlockState::Deferred, order),
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

    pub(super) fn flush_locked(&self, heap: &mut Heap<'_>) {
        if let Some(checked) = self.slot.checked(self.memory) {
            self.flush_quarantine(checked, heap);
        }
        let stacks = self.slot.stacks(self.memory);
        // Once more when a chunk source, called back meanwhile, freed into a stack that was empty.
        while stacks.iter().any(|lifo| lifo.fill() > 0) {
            for (order, lifo) in (0..).zip(stacks) {
                self.give_top(heap, lifo, order, u32::MAX);
            }
        }
        for lifo in stacks.iter().filter(|lifo| lifo.is_cached()) {
            lifo.calm(self.header.config.capacity.get());
        }
    }

    /// Gives up to `count` objects off the top of the stack of `order` to the heap. One at a time:
    /// a chunk that becomes empty goes back to the source, which may call this worker again and
    /// must find the stack as it is. And to the heap before it is off the stack, so that it is in one
    /// of both wherever the worker may end.
    fn give_top(&self, heap: &mut Heap<'_>, lifo: &Lifo, order: u32, count: u32) {
        for _ in 0..count {
            let Some(address) = lifo.peek(self.memory) else {
                return;
            };
            // SAFETY: the object is in this worker's cache: out of the heap, of `order`.
            unsafe { heap.give(address, order) };
            lifo.drop_top();
            self.slot.traffic(order).objects_out.add(1);
            heap.trim(self.source, address);
        }
    }

    pub(super) fn give(&self, heap: &mut Heap<'_>, address: u32, order: u32) {
        // SAFETY: the object was checked to be allocated, or claimed: out of the heap, of `order`,
        // and now nobody's.
        unsafe { heap.give(address, order) };
        self.let_go(address);
        heap.trim(self.source, address);
    }
}
