//! The central heap: the buddy system over all chunks of an arena.
//!
//! [`Central`] is the shared state, [`Heap`] the right to use it: it exists only while the heap
//! lock is held. A request takes the smallest free block that is large enough; what it does not
//! need goes back to the lists as the buddies that splitting leaves. A free block merges with its
//! buddy for as long as that is free and whole. Both touch one block map and the lists of the
//! orders in between, never another chunk.
//!
//! How the heap gets chunks and gives them back is in [`growth`](super::growth), blocks larger
//! than a chunk can give in [`huge`](super::huge), resizing in place in [`resize`](super::resize).

use super::block::{BlockState, INTERIOR, block_extent, block_state, extent_byte, is_whole_of};
use super::block_map::{ChunkKind, ChunkTable, map_byte};
use super::deferred::Deferred;
use super::extent::Extent;
use super::free_list::{FreeLists, FreeNode};
use crate::agent::Agent;
use crate::error::Busy;
use crate::lock::{Lock, Patience};
use crate::memory::Memory;
use crate::order::{
    CHUNK_BYTES, CHUNK_ORDER, CHUNK_UNITS, MAX_ORDER, UNIT_BYTES, block_bytes, block_units,
    buddy_of, chunk_of, largest_between, unit_of,
};
use crate::source::ChunkSource;
use crate::sync::{PlainU32, PlainU64};
use core::mem;

/// The state of the heap. Zeroed memory is an empty one. Everything but the lock and the deferred
/// list is written only by the lock's holder; watchers may read any word at any time.
#[repr(C)]
pub(crate) struct Central {
    lock: Lock,
    pub(crate) deferred: Deferred,
    /// Chunks of blocks.
    pub(crate) chunks: PlainU32,
    /// Chunks of huge blocks.
    pub(crate) huge_chunks: PlainU32,
    /// Chunks that the arena may own at most.
    pub(crate) max_chunks: PlainU32,
    /// 1 if every chunk keeps a shadow map: in checking mode.
    pub(crate) shadowed: PlainU32,
    /// Chunks of blocks of which every usable unit is free.
    pub(crate) empty_chunks: PlainU32,
    /// Units on the free lists. Changed once a call, by what the call took or gave: pieces on
    /// their way from one list to another are free to whoever watches.
    pub(crate) free_units: PlainU32,
    /// Units that are the allocator's own.
    pub(crate) metadata_units: PlainU32,
    pub(crate) lists: FreeLists,
    /// Blocks out of the heap by order: allocated, cached, in transfer or deferred.
    pub(crate) out: [PlainU32; CHUNK_ORDER as usize],
    /// Blocks halved.
    pub(crate) splits: PlainU64,
    /// Buddies joined.
    pub(crate) merges: PlainU64,
    /// Chunks taken from the source.
    pub(crate) grows: PlainU64,
    /// Chunks given back to the source.
    pub(crate) releases: PlainU64,
    /// Times that the lock was taken.
    pub(crate) locks: PlainU64,
    /// Objects that were freed by way of the deferred list.
    pub(crate) drained: PlainU64,
    /// Most chunks that the arena ever owned.
    pub(crate) peak_chunks: PlainU32,
    /// Most units that were ever out of the heap.
    pub(crate) peak_out_units: PlainU32,
    pub(crate) table: ChunkTable,
}

/// The heap, locked; dropping it lets the lock go.
///
/// Two words natively and one on wasm, so that it is handed around in registers: whatever takes a
/// block from the heap gets one of these first.
pub(crate) struct Heap<'a> {
    pub(super) central: &'a Central,
    pub(super) memory: Memory,
}

impl Drop for Heap<'_> {
    #[inline]
    fn drop(&mut self) {
        self.central.lock.unlock();
    }
}

/// A block that was just taken out of the heap.
#[derive(Clone, Copy)]
pub(crate) struct Taken {
    pub(crate) address: u32,
    /// Whether every byte of it is known to be zero.
    pub(crate) zeroed: bool,
}

impl Central {
    /// Takes the heap lock over from `dead`, which has ended, if it held it.
    ///
    /// # Safety
    ///
    /// `memory` is that of the arena that this heap is part of, and `dead` has ended. What it was
    /// doing is half done: the heap is to be [rebuilt](Heap::rebuild) before it is used.
    pub(crate) unsafe fn take_over<'a>(
        &'a self,
        memory: Memory,
        dead: Agent,
        heir: Agent,
    ) -> Option<Heap<'a>> {
        mem::forget(self.lock.take_over(dead, heir)?);
        Some(Heap {
            central: self,
            memory,
        })
    }

    /// Blocks of `order` out of the heap. Orders are below the number of them; the remainder leaves out
    /// the code, and the message, for one that is not.
    #[inline(always)]
    pub(super) fn out(&self, order: u32) -> &PlainU32 {
        debug_assert!(order < CHUNK_ORDER);
        &self.out[(order % CHUNK_ORDER) as usize]
    }

    /// The number of the agent that holds the heap lock; 0: nobody.
    pub(crate) fn holder(&self) -> u32 {
        self.lock.holder()
    }

    /// Wakes everybody who waits for the heap lock.
    pub(crate) fn wake_all(&self) {
        self.lock.wake_all();
    }

    /// Takes the heap lock.
    ///
    /// # Safety
    ///
    /// `memory` is that of the arena that this heap is part of.
    #[inline]
    pub(crate) unsafe fn lock<'a>(
        &'a self,
        memory: Memory,
        agent: Agent,
        patience: Patience,
    ) -> Result<Heap<'a>, Busy> {
        // From here on the heap is the guard.
        mem::forget(self.lock.lock(agent, patience)?);
        self.locks.add(1);
        Ok(Heap {
            central: self,
            memory,
        })
    }
}

fn raise(peak: &PlainU32, value: u32) {
    if value > peak.get() {
        peak.set(value);
    }
}

impl<'a> Heap<'a> {
    pub(crate) fn central(&self) -> &'a Central {
        self.central
    }

    pub(crate) fn chunks(&self) -> &'a ChunkTable {
        &self.central.table
    }

    pub(crate) fn memory(&self) -> Memory {
        self.memory
    }

    /// The address of the arena's first chunk, by which a source knows for whom a chunk was taken.
    pub(super) fn claimant(&self) -> u32 {
        // The heap's state is part of the header, which lies there.
        let central = self.memory.address(core::ptr::from_ref(self.central));
        chunk_of(central.unwrap_or(0))
    }

    /// Takes one block of `extent`, aligned as one of order `alignment` is, out of the chunks that there
    /// are.
    pub(crate) fn take_aligned(&mut self, extent: Extent, alignment: u32) -> Option<Taken> {
        let order = extent.order();
        let taken = self.take_run(alignment.max(order), extent.units(), 1)?;
        self.mark(taken.address, extent, BlockState::Allocated);
        self.count_taken(order, 1);
        Some(taken)
    }

    /// Takes one block of `order` for the allocator itself.
    pub(crate) fn take_metadata(&mut self, order: u32) -> Option<u32> {
        let address = self.take_run(order, block_units(order), 1)?.address;
        self.mark(address, Extent::whole(order), BlockState::Metadata);
        self.central.metadata_units.add(block_units(order));
        Some(address)
    }

    /// Takes up to `count` blocks of `order`, has `each` put each in its place before it is marked as
    /// one of `state`, and returns how many there were. Loose blocks of the very order go first, so that fragments are used up; the rest is
    /// cut from one larger block.
    pub(crate) fn take_batch(
        &mut self,
        order: u32,
        count: u32,
        state: BlockState,
        mut each: impl FnMut(u32),
    ) -> u32 {
        let mut taken = 0;
        while taken < count {
            let loose = self.central.lists.head(order);
            if loose == 0 {
                break;
            }
            self.unlist(loose, order);
            self.central.free_units.sub(block_units(order));
            each(loose);
            self.mark(loose, Extent::whole(order), state);
            taken += 1;
        }
        while taken < count {
            let wanted = (count - taken).next_power_of_two().trailing_zeros() + order;
            // The largest power of two that some block can still give.
            let Some(from) = (order..=wanted.min(MAX_ORDER))
                .rev()
                .find(|&from| self.central.lists.first_at_least(from).is_some())
            else {
                break;
            };
            let run = (count - taken).min(1 << (from - order));
            let Some(start) = self.take_run(from, run * block_units(order), run) else {
                break;
            };
            for index in 0..run {
                let address = start.address + index * block_bytes(order);
                each(address);
                self.mark(address, Extent::whole(order), state);
            }
            taken += run;
        }
        self.count_taken(order, taken);
        taken
    }

    /// Takes one block and cuts it into `1 << n_order` objects of `order`, all allocated.
    /// Returns the first; the others follow at a stride of their size.
    pub(crate) fn take_bulk(&mut self, order: u32, n_order: u32) -> Option<Taken> {
        let start = self.take_run(order + n_order, block_units(order + n_order), 1 << n_order)?;
        // The first one last: until then all of it is one free block.
        for index in (0..1 << n_order).rev() {
            self.mark(
                start.address + index * block_bytes(order),
                Extent::whole(order),
                BlockState::Allocated,
            );
        }
        self.count_taken(order, 1 << n_order);
        Some(start)
    }

    /// Returns the whole block at `address` to the lists, merged with every free buddy.
    ///
    /// # Safety
    ///
    /// The block is out of this heap, of `order`, and nobody uses it any more.
    pub(crate) unsafe fn give(&mut self, address: u32, order: u32) {
        self.central.out(order).sub(1);
        self.insert(address, order);
    }

    /// [`give`](Self::give) of a block that may be cut short.
    ///
    /// # Safety
    ///
    /// The block is out of this heap, of `extent`, and nobody uses it any more.
    pub(crate) unsafe fn give_extent(&mut self, address: u32, extent: Extent) {
        self.central.out(extent.order()).sub(1);
        let start = unit_of(address);
        let pieces = self.insert_area(chunk_of(address), start, start + extent.units());
        self.central.splits.add((pieces - 1).into());
    }

    /// Lists the units `from .. to` of a chunk, which are nobody's and whose bytes are clear but for the
    /// first one, merged with what is free around them; how many pieces they were. The first piece
    /// goes first: from then on no byte says that any of it is out of the heap.
    pub(super) fn insert_area(&mut self, chunk: u32, from: u32, to: u32) -> u32 {
        let mut unit = from;
        let mut pieces = 0;
        while unit < to {
            let order = largest_between(unit, to);
            self.insert(chunk + unit * UNIT_BYTES, order);
            unit += block_units(order);
            pieces += 1;
        }
        pieces
    }

    /// Frees every object on the deferred list: what every holder of the lock does first.
    #[inline]
    pub(crate) fn drain_deferred(&mut self, source: &impl ChunkSource) {
        let first = self.central.deferred.take_all();
        if first != 0 {
            self.free_chain(first, source);
        }
    }

    #[cold]
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    fn free_chain(&mut self, first: u32, source: &impl ChunkSource) {
        let mut address = first;
        while address != 0 {
            // A link stands in freed memory, where a stray write of the program may reach it:
            // what is not a deferred block ends the chain. `verify` names the blocks behind it.
            let Some(extent) = self.deferred_extent(address) else {
                return;
            };
            // SAFETY: the block is a deferred one, and its first word its link.
            let next = unsafe { self.memory.at::<PlainU32>(address) }.get();
            // SAFETY: a deferred block is out of the heap, and only the list held it.
            unsafe { self.free_deferred(address, extent, source) };
            address = next;
        }
    }

    /// Frees the deferred block at `address`, of `extent`, or huge where that is `None`.
    ///
    /// # Safety
    ///
    /// It is such a block, and no list holds it any more.
    pub(super) unsafe fn free_deferred(
        &mut self,
        address: u32,
        extent: Option<Extent>,
        source: &impl ChunkSource,
    ) {
        let deferred = &self.central.deferred;
        match extent {
            Some(extent) => {
                // SAFETY: out of the heap, and nobody's.
                deferred.drain(address, extent.units(), || unsafe {
                    self.give_extent(address, extent);
                });
                self.trim(source, address);
            }
            None => {
                let units = self.central.table.run_chunks(address).get() * CHUNK_UNITS;
                // SAFETY: as above.
                deferred.drain(address, units, || unsafe {
                    self.give_huge(source, address, 0);
                });
            }
        }
        self.central.drained.add(1);
    }

    /// The extent of the deferred block at `address`, `Some(None)` for a huge one; `None` if there
    /// is no such block.
    pub(super) fn deferred_extent(&self, address: u32) -> Option<Option<Extent>> {
        match self.central.table.kind(address) {
            ChunkKind::HugeDeferred => address.is_multiple_of(CHUNK_BYTES).then_some(None),
            ChunkKind::Blocks if address.is_multiple_of(UNIT_BYTES) => {
                // SAFETY: in a chunk of blocks of the arena.
                let byte = unsafe { map_byte(self.memory, address) }.get();
                let extent = block_extent(byte)?;
                (block_state(byte) == BlockState::Deferred).then_some(Some(extent))
            }
            _ => None,
        }
    }

    /// Finds a block of `from` or above, keeps `run` units at its start, which will be so many
    /// `blocks`, and lists the rest.
    fn take_run(&mut self, from: u32, run: u32, blocks: u32) -> Option<Taken> {
        let found = self.central.lists.first_at_least(from)?;
        let address = self.central.lists.head(found);
        let state = self.unlist(address, found);

        // Halve until the run fills more than half of what is left; then cut the tail that the
        // run does not reach into the blocks that halving it would leave.
        let start = unit_of(address);
        let mut end = start + block_units(found);
        let mut splits = 0;
        let mut piece = found;
        while piece > 0 && run <= block_units(piece - 1) {
            piece -= 1;
            end -= block_units(piece);
            splits += 1;
            self.list(chunk_of(address) + end * UNIT_BYTES, piece, state);
        }
        let mut tail = start + run;
        while tail < end {
            let size = largest_between(tail, end);
            self.list(chunk_of(address) + tail * UNIT_BYTES, size, state);
            tail += block_units(size);
            splits += 1;
        }
        splits += blocks - 1;
        self.central.splits.add(splits.into());
        self.central.free_units.sub(run);
        Some(Taken {
            address,
            zeroed: state == BlockState::Zeroed,
        })
    }

    /// Merges the block with its free buddies and lists what comes of it.
    fn insert(&mut self, address: u32, order: u32) {
        let chunk = chunk_of(address);
        let mut unit = unit_of(address);
        let mut merged = order;
        while merged < MAX_ORDER {
            let buddy = buddy_of(unit, merged);
            let buddy_address = chunk + buddy * UNIT_BYTES;
            if !self.is_free(buddy_address, merged) {
                break;
            }
            self.unlist(buddy_address, merged);
            let upper = chunk + unit.max(buddy) * UNIT_BYTES;
            // SAFETY: the upper half's start becomes interior, and the heap owns both halves.
            unsafe { map_byte(self.memory, upper) }.set(INTERIOR);
            unit = unit.min(buddy);
            merged += 1;
            self.central.merges.add(1);
        }
        self.list(chunk + unit * UNIT_BYTES, merged, BlockState::Free);
        self.central.free_units.add(block_units(order));
    }

    /// Whether a free block of `order` starts at `address`, which is in a chunk of blocks.
    pub(super) fn is_free(&self, address: u32, order: u32) -> bool {
        // SAFETY: the caller's address is in a chunk of the arena.
        let byte = unsafe { map_byte(self.memory, address) }.get();
        block_state(byte).is_free() && is_whole_of(byte, order)
    }

    /// Marks the block free and puts it on its list.
    pub(super) fn list(&mut self, address: u32, order: u32, state: BlockState) {
        self.mark(address, Extent::whole(order), state);
        // SAFETY: the lock is held; the caller took the block off every list or never listed it.
        unsafe { self.central.lists.push(self.memory, order, address) };
        self.count_free(address, block_units(order));
    }

    /// Takes the free block off its list, and returns its state. Of one that is known to be zero
    /// the links are zeroed too, so that it all is.
    pub(super) fn unlist(&mut self, address: u32, order: u32) -> BlockState {
        // SAFETY: the lock is held, and a block that is marked free is on its list.
        let state = unsafe {
            self.central.lists.remove(self.memory, order, address);
            block_state(map_byte(self.memory, address).get())
        };
        if state == BlockState::Zeroed {
            // SAFETY: the block is the heap's to write.
            let node = unsafe { self.memory.at::<FreeNode>(address) };
            node.next.set(0);
            node.previous.set(0);
        }
        self.count_free(address, block_units(order).wrapping_neg());
        state
    }

    pub(super) fn mark(&self, address: u32, extent: Extent, state: BlockState) {
        // SAFETY: the heap owns the block until it hands it out.
        unsafe { map_byte(self.memory, address) }.set(extent_byte(state, extent));
    }

    /// Adds to the free units of the chunk, and sees it become empty or cease to be; a negative
    /// count wraps.
    fn count_free(&self, address: u32, units: u32) {
        let of_chunk = self.central.table.free_units(address);
        let before = of_chunk.get();
        let after = before.wrapping_add(units);
        let usable = self.usable_units();
        debug_assert!(after <= usable && usable < CHUNK_UNITS);
        of_chunk.set(after);
        if after == usable {
            self.central.empty_chunks.add(1);
        } else if before == usable {
            self.central.empty_chunks.sub(1);
        }
    }

    /// Adds to the blocks out of the heap, whose units are on no list any more, and sees a peak.
    #[inline(always)]
    pub(super) fn count_taken(&self, order: u32, blocks: u32) {
        self.central.out(order).add(blocks);
        self.note_peaks();
    }

    /// Sees whether more is owned, or out of the heap, than ever before.
    #[inline(always)]
    pub(super) fn note_peaks(&self) {
        let central = self.central;
        let owned = central.chunks.get() + central.huge_chunks.get();
        let out = owned * CHUNK_UNITS - central.free_units.get() - central.metadata_units.get();
        raise(&central.peak_chunks, owned);
        raise(&central.peak_out_units, out);
    }
}
