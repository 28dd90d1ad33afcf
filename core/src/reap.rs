//! Taking in what an agent left behind that ended without detaching: killed, at any instruction.
//!
//! 1. Take the **heap lock**: over from the dead agent if it held it, else like anybody.
//! 2. Mark its **slots** as dying, so that if the one who reaps ends too, the next knows of them.
//! 3. What is on a dying slot's **stacks** is in its hands, whatever its byte says: mark it cached.
//! 4. Take the locks of **transfer caches** over that it held. An object that is there and on a dying
//!    stack as well was on its way between the two: it stays there, and leaves the stack.
//! 5. If it held the heap lock, **rebuild** the heap from its block maps ([`recovery`]).
//! 6. Free **stray** deferred blocks.
//! 7. Give the stacks' objects, and those of a quarantine, to the heap.
//! 8. Free the **seats**. Wake whoever waits: a wake may have gone to the dead.
//!
//! What the dead agent's program had allocated stays allocated. A call that was under way has
//! happened or has not: an object that was being freed may still be allocated, and one that was being
//! allocated from the heap may be, without anybody having got it.
//!
//! **Why no object is lost or in two places.** Every object moves from place to place by stores of
//! which each leaves it in one of both, or in both while the lock of one is held; so step 4, under
//! that lock, and step 7, after the heap is whole, see every case. An entry of a dying stack whose
//! byte is not *cached* by step 7 has gone: to the heap, or to a transfer cache.
//!
//! **Ordering.** All that the agent wrote before its end is visible to who knows of it. Everything
//! here is done under the heap lock, so two agents may reap the same one.
//!
//! [`recovery`]: crate::heap::recovery

use crate::agent::Agent;
use crate::cache::lifo::Lifo;
use crate::cache::slot::Slot;
use crate::error::Busy;
use crate::header::Header;
use crate::heap::block::{
    BlockState, allocated_extent, block_byte, block_extent, block_state, is_whole_of,
};
use crate::heap::block_map::map_byte;
use crate::heap::central::Heap;
use crate::heap::poison::{self, PADDING};
use crate::heap::shadow::{self, SHADOW_OFFSET};
use crate::lock::Patience;
use crate::memory::Memory;
use crate::order::{CHUNK_ORDER, UNIT_BYTES, block_bytes, chunk_of};
use crate::source::ChunkSource;

/// What an agent had left behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "camelCase")
)]
pub struct Reaped {
    /// Slots that it sat in, free again.
    pub slots: u32,
    /// Objects that it had cached or was moving, back in the heap.
    pub objects: u32,
    /// Bytes of their blocks.
    pub bytes: u64,
    /// Whether it had held the heap lock, and the heap was rebuilt.
    pub recovered_heap: bool,
    /// Transfer caches whose locks it had held.
    pub recovered_transfers: u32,
    /// Free blocks that were listed anew.
    pub listed_blocks: u32,
    /// Chunks that it was taking from the source or giving back.
    pub reclaimed_chunks: u32,
}

/// One reaping.
struct Reaping<'a, S> {
    header: &'a Header,
    source: &'a S,
    memory: Memory,
    reaped: Reaped,
}

/// Takes in what `dead` left in the arena of `header`.
///
/// # Safety
///
/// `dead` has ended.
pub(crate) unsafe fn reap(
    header: &Header,
    source: &impl ChunkSource,
    dead: Agent,
    patience: Patience,
) -> Result<Reaped, Busy> {
    let reaping = Reaping {
        header,
        source,
        memory: source.memory(),
        reaped: Reaped::default(),
    };
    let reaped = if reaping.left_anything(dead) {
        // SAFETY: the caller's promise, passed on.
        unsafe { reaping.run(dead, patience) }?
    } else {
        Reaped::default()
    };
    header.central.wake_all();
    header
        .transfers
        .iter()
        .for_each(|transfer| transfer.wake_all());
    Ok(reaped)
}

impl<'a, S: ChunkSource> Reaping<'a, S> {
    /// Whether there is anything to do. Its own words are final, so this needs no lock.
    fn left_anything(&self, dead: Agent) -> bool {
        let number = dead.number();
        self.header.central.holder() == number
            || self
                .slots()
                .any(|slot| slot.agent() == number || slot.dying.get() != 0)
            || self
                .header
                .transfers
                .iter()
                .any(|transfer| transfer.holder() == number)
    }

    /// # Safety
    ///
    /// `dead` has ended.
    unsafe fn run(mut self, dead: Agent, patience: Patience) -> Result<Reaped, Busy> {
        let (central, heir) = (&self.header.central, Agent::current());
        // SAFETY: the memory is that of the arena, and the heap is rebuilt before it is used.
        let inherited = unsafe { central.take_over(self.memory, dead, heir) };
        self.reaped.recovered_heap = inherited.is_some();
        let mut heap = match inherited {
            Some(heap) => heap,
            // SAFETY: as above.
            None => unsafe { central.lock(self.memory, heir, patience) }?,
        };
        for slot in self.slots() {
            if slot.agent() == dead.number() {
                slot.dying.set(1);
            }
        }
        self.mark_held();
        self.recover_transfers(dead, heir);
        if self.reaped.recovered_heap {
            let is_metadata = |address| self.is_metadata(address);
            // SAFETY: the lock was taken over just now.
            let rebuilt = unsafe { heap.rebuild(self.source, is_metadata) };
            self.reaped.listed_blocks = rebuilt.listed;
            self.reaped.reclaimed_chunks = rebuilt.reclaimed;
        }
        self.free_strays(&mut heap);
        for slot in self.dying() {
            self.empty(slot, &mut heap);
            slot.dying.set(0);
            // Last, for who waits for a standing seat.
            slot.vacate();
            self.reaped.slots += 1;
        }
        self.header.slots.rebuild(&mut heap);
        Ok(self.reaped)
    }

    fn slots(&self) -> impl Iterator<Item = &'a Slot> + use<'a, S> {
        self.header.slots.iter(self.memory)
    }

    fn dying(&self) -> impl Iterator<Item = &'a Slot> + use<'a, S> {
        self.slots().filter(|slot| slot.dying.get() != 0)
    }

    /// The stacks of the dying slots with their orders.
    fn stacks(&self) -> impl Iterator<Item = (u32, &'a Lifo)> + use<'a, S> {
        let memory = self.memory;
        self.dying()
            .flat_map(move |slot| (0..).zip(slot.stacks(memory)))
    }

    /// The state of the whole block of `order` at `address`; none if the map has no such block there.
    fn state(&self, address: u32, order: u32) -> Option<BlockState> {
        let is_block =
            address.is_multiple_of(UNIT_BYTES) && self.header.central.table.has_map(address);
        // SAFETY: in a chunk of blocks of the arena.
        let byte = is_block.then(|| unsafe { map_byte(self.memory, address) }.get())?;
        is_whole_of(byte, order).then_some(block_state(byte))
    }

    /// Marks an object of a cache as one of `state` if it is out of the heap still; whether it is.
    fn mark_if_out(&self, address: u32, order: u32, state: BlockState) -> bool {
        let is_out = matches!(
            self.state(address, order),
            Some(BlockState::Allocated | BlockState::Cached | BlockState::InTransfer)
        );
        if is_out {
            // SAFETY: in a chunk of the arena, and in the hands of who reaps.
            unsafe { map_byte(self.memory, address) }.set(block_byte(state, order));
        }
        is_out
    }

    fn mark_held(&self) {
        for (order, stack) in self.stacks() {
            for entry in &stack.entries(self.memory)[..stack.fill() as usize] {
                self.mark_if_out(entry.get(), order, BlockState::Cached);
            }
        }
    }

    fn recover_transfers(&mut self, dead: Agent, heir: Agent) {
        for (order, transfer) in (0..).zip(&self.header.transfers) {
            let is_here = |address| self.mark_if_out(address, order, BlockState::InTransfer);
            let leave_stacks = || {
                let of_order = self.stacks().filter(|&(other, _)| other == order);
                of_order.for_each(|(_, stack)| self.keep_cached(stack, order));
            };
            let recovered = transfer.recover(self.memory, dead, heir, is_here, leave_stacks);
            self.reaped.recovered_transfers += u32::from(recovered);
        }
    }

    /// Takes off a stack what is not marked as cached.
    fn keep_cached(&self, stack: &Lifo, order: u32) {
        let entries = &stack.entries(self.memory)[..stack.fill() as usize];
        let mut kept = 0;
        for entry in entries {
            if self.state(entry.get(), order) == Some(BlockState::Cached) {
                entries[kept as usize].set(entry.get());
                kept += 1;
            }
        }
        stack.set_fill(kept);
    }

    /// Whether a block of metadata is one that the arena knows. One that nothing leads to was being
    /// made into a slot.
    fn is_metadata(&self, address: u32) -> bool {
        let header = self.header;
        let in_chunk = address - chunk_of(address);
        let shadowed = header.central.shadowed.get() != 0;
        in_chunk == 0
            || shadowed && in_chunk == SHADOW_OFFSET
            || [
                header.address.get(),
                header.slots.directory.get(),
                header.transfers[0].array(),
                header.huge_padding.get(),
            ]
            .contains(&address)
            || header.slots.has(self.memory, address)
    }

    fn free_strays(&self, heap: &mut Heap<'_>) {
        let was_deferring = || self.dying().any(|slot| slot.deferring.name() != 0);
        if self.reaped.recovered_heap || was_deferring() {
            let lives = |slot: &&Slot| slot.dying.get() == 0;
            let is_being_deferred = |address| {
                let mut living = self.slots().filter(lives);
                living.any(|slot| slot.deferring.name() == address)
            };
            heap.free_strays(self.source, is_being_deferred, |address, units| {
                // It may have ended before it counted the block.
                for slot in self.dying().filter(|slot| slot.deferring.name() == address) {
                    slot.deferring.settle(units);
                }
            });
        }
        self.dying().for_each(|slot| slot.deferring.end());
    }

    /// Gives to the heap what a dying slot held.
    fn empty(&mut self, slot: &Slot, heap: &mut Heap<'_>) {
        for (order, stack) in (0..).zip(slot.stacks(self.memory)) {
            while let Some(address) = stack.peek(self.memory) {
                let given = self.give(heap, address, order);
                stack.drop_top();
                if given {
                    slot.traffic[order as usize].objects_out.add(1);
                    heap.trim(self.source, address);
                }
            }
        }
        let stacks = slot.stacks(self.memory).iter();
        for stack in stacks.filter(|stack| stack.is_cached()) {
            stack.calm(self.header.config.capacity.get());
        }
        let Some(checked) = slot.checked(self.memory) else {
            return;
        };
        let claimed = checked.claimed(|address| self.was_requested(address));
        let held = checked.quarantine.iter(self.memory).chain(claimed);
        for address in held.filter(|&address| address != 0) {
            if self.header.central.table.has_map(address) {
                // SAFETY: in a chunk of blocks of the arena.
                let extent = block_extent(unsafe { map_byte(self.memory, address) }.get());
                if let Some(extent) = extent {
                    self.give(heap, address, extent.order());
                }
            }
        }
        self.poison_padding(checked.resizing.get());
        checked.forget();
    }

    /// Poisons what nobody asked for of an object that was being resized.
    fn poison_padding(&self, address: u32) {
        if !self.header.central.table.has_map(address) {
            return;
        }
        // SAFETY: in a chunk of blocks of the arena, each of which has a shadow map in this mode; an
        // object in the hands of the dead.
        unsafe {
            let byte = map_byte(self.memory, address).get();
            if let Some(extent) = allocated_extent(byte) {
                let order = extent.order();
                let padding = shadow::size(self.memory, address, order)..block_bytes(order);
                poison::fill(self.memory, address, padding, PADDING);
            }
        }
    }

    /// Whether some byte of the block at `address` counts as asked for.
    fn was_requested(&self, address: u32) -> bool {
        // SAFETY: the mode gives every chunk of blocks a shadow map.
        self.header.central.table.has_map(address) && unsafe { shadow::has(self.memory, address) }
    }

    /// Gives an object to the heap if it is marked as cached; whether it was.
    fn give(&mut self, heap: &mut Heap<'_>, address: u32, order: u32) -> bool {
        let is_cached = self.state(address, order) == Some(BlockState::Cached);
        if is_cached && order < CHUNK_ORDER {
            if self.header.central.shadowed.get() != 0 {
                // SAFETY: the mode gives every chunk of blocks a shadow map.
                unsafe { shadow::set(self.memory, address, order, 0) };
            }
            // SAFETY: out of the heap, of `order`, and held by nobody but the dying slot.
            unsafe { heap.give(address, order) };
            self.reaped.objects += 1;
            self.reaped.bytes += u64::from(block_bytes(order));
        }
        is_cached
    }
}
