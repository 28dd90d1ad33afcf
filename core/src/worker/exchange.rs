//! What a worker's stacks exchange with the layers behind them: batches in, batches out.
//!
//! A stack begins narrow, with the settings' `capacity`, and **each miss doubles it** up to its steady
//! width, 8 KiB of objects; the batches that move grow with it. So a worker that allocates little
//! holds little, and one that only allocates what others free takes its objects by dozens. Beyond the
//! steady width a stack widens for bursts only: where as many objects as it holds were popped since
//! it began to count. One that only fills narrows again.
//!
//! ```text
//!   capacity          steady width                        burst capacity
//!   16 ─ miss ─▶ 32 ─▶ 64 ─▶ 128 ─ a burst ─▶ 256 ─▶ 512 ─▶ 1024     objects of 64 bytes
//!                             ◀──────────── only fills ─────────┘
//! ```

use super::Worker;
use super::miss::{Effort, Request};
use crate::agent::Agent;
use crate::cache::lifo::Lifo;
use crate::error::{AllocError, Busy};
use crate::heap::block::BlockState;
use crate::heap::central::Heap;
use crate::lock::Patience;
use crate::source::ChunkSource;

/// Units whose bytes stand in one line of the block map. Two workers with objects in the same ones
/// write one line of the processor's cache in turns.
const MAP_LINE_UNITS: u32 = 64;

impl<S: ChunkSource> Worker<'_, S> {
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
        let config = self.header.config.get();
        let line = MAP_LINE_UNITS >> order;
        let most = config.moved(order, config.steady(order));
        let wanted = line.min(most).max(config.moved(order, lifo.capacity()));
        if lifo.capacity() < wanted {
            lifo.resize(wanted);
        }
        let filled = self.fill_from_heap(&mut heap, lifo, order, wanted);
        if filled > 0 {
            let traffic = self.slot.traffic(order);
            traffic.refills_from_heap.add(1);
            traffic.objects_in.add(filled.into());
            lifo.widen_to(config.steady(order));
        }
        Ok(())
    }

    /// Fills the empty stack of `order` with a batch from the transfer cache, or with what it has of
    /// one; whether it had any.
    pub(super) fn refill_from_transfer(&self, lifo: &Lifo, order: u32) -> bool {
        let Some(transfer) = self.header.transfers.get(order as usize) else {
            return false;
        };
        if transfer.count.get() == 0 {
            return false;
        }
        let config = self.header.config.get();
        let wanted = config.moved(order, lifo.capacity());
        let Some(batch) = lifo.entries(self.memory).get(..wanted as usize) else {
            return false;
        };
        let entries = transfer.entries(self.memory);
        let cached = |address| self.mark(address, BlockState::Cached, order);
        let keep = |taken| lifo.set_fill(taken);
        let taken = transfer.take(entries, batch, Agent::current(), cached, keep);
        if taken > 0 {
            let traffic = self.slot.traffic(order);
            traffic.refills_from_transfer.add(1);
            traffic.objects_in.add(taken.into());
            lifo.widen_to(config.steady(order));
        }
        taken > 0
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
        let config = self.header.config.get();
        let steady = config.steady(order);
        if lifo.widen_to(steady) || lifo.widen_for_burst() {
            return Ok(());
        }
        let wide = lifo.capacity();
        let batch = config.moved(order, wide).min(lifo.fill());
        if lifo.only_fills(batch) && wide > steady {
            return self.narrow(lifo, order, steady.max(wide / 2), patience);
        }
        self.spill(lifo, order, batch, patience)
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

    /// Moves the top `batch` objects of the full stack of `order` out.
    #[inline(always)]
    fn spill(&self, lifo: &Lifo, order: u32, batch: u32, patience: Patience) -> Result<(), Busy> {
        let traffic = self.slot.traffic(order);
        let fill = lifo.fill();
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
}
