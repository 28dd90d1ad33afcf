//! The central heap: the buddy system over all chunks of an arena.
//!
//! [`Central`] is the shared state, [`Heap`] the right to use it: it exists only while the heap
//! lock is held. A request takes the smallest free block that is large enough; what it does not
//! need goes back to the lists as the buddies that splitting leaves. A free block merges with its
//! buddy for as long as that is free and whole. Both touch one block map and the lists of the
//! orders in between, never another chunk.
//!
//! A chunk of which nothing is in use goes back to the source, unless it is the only such one:
//! keeping one spares a program that hovers at a chunk's edge from taking and giving it each time.

use super::block::{BlockState, INTERIOR, block_byte};
use super::block_map::{self, ChunkTable, MAP_ORDER, USABLE_UNITS, map_byte};
use super::free_list::FreeLists;
use crate::error::Busy;
use crate::lock::{Context, Lock, LockGuard, Owner};
use crate::memory::Memory;
use crate::order::{
    CHUNK_ORDER, CHUNK_UNITS, MAX_ORDER, UNIT_BYTES, block_bytes, block_units, buddy_of, chunk_of,
    unit_of,
};
use crate::source::ChunkSource;
use crate::sync::{PlainU32, PlainU64};

/// The state of the heap. Zeroed memory is an empty one. Everything but the lock is written only
/// by its holder; watchers may read any word at any time.
#[repr(C)]
pub(crate) struct Central {
    lock: Lock,
    /// Chunks owned.
    pub(crate) chunks: PlainU32,
    /// Chunks of which every usable unit is free.
    empty_chunks: PlainU32,
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
}

/// The heap, locked.
pub(crate) struct Heap<'a> {
    central: &'a Central,
    chunks: &'a ChunkTable,
    memory: Memory,
    _guard: LockGuard<'a>,
}

impl Central {
    /// Takes the heap lock.
    ///
    /// # Safety
    ///
    /// `chunks` and `memory` are those of the arena that this heap is part of.
    pub(crate) unsafe fn lock<'a>(
        &'a self,
        chunks: &'a ChunkTable,
        memory: Memory,
        owner: Owner,
        context: Context,
    ) -> Result<Heap<'a>, Busy> {
        let guard = self.lock.lock(owner, context)?;
        self.locks.add(1);
        Ok(Heap {
            central: self,
            chunks,
            memory,
            _guard: guard,
        })
    }
}

impl<'a> Heap<'a> {
    pub(crate) fn central(&self) -> &'a Central {
        self.central
    }

    pub(crate) fn chunks(&self) -> &'a ChunkTable {
        self.chunks
    }

    pub(crate) fn memory(&self) -> Memory {
        self.memory
    }

    /// Takes one block of `order` out of the chunks that there are.
    pub(crate) fn take(&mut self, order: u32) -> Option<u32> {
        let address = self.take_run(order, order, 1)?;
        self.mark(address, order, BlockState::Allocated);
        self.count_out(order, 1);
        Some(address)
    }

    /// Takes one block of `order` for the allocator itself.
    pub(crate) fn take_metadata(&mut self, order: u32) -> Option<u32> {
        let address = self.take_run(order, order, 1)?;
        self.mark(address, order, BlockState::Metadata);
        self.central.metadata_units.add(block_units(order));
        Some(address)
    }

    /// Takes up to `count` blocks of `order`, hands each to `each`, and returns how many there
    /// were. Loose blocks of the very order go first, so that fragments are used up; the rest is
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
            // SAFETY: the lock is held and the block heads the list of `order`.
            unsafe { self.central.lists.remove(self.memory, order, loose) };
            self.count_free(loose, block_units(order).wrapping_neg());
            self.central.free_units.sub(block_units(order));
            self.mark(loose, order, state);
            each(loose);
            taken += 1;
        }
        while taken < count {
            let wanted = (count - taken).next_power_of_two().ilog2() + order;
            // The largest power of two that some block can still give.
            let Some(from) = (order..=wanted.min(MAX_ORDER))
                .rev()
                .find(|&from| self.central.lists.first_at_least(from).is_some())
            else {
                break;
            };
            let run = (count - taken).min(1 << (from - order));
            let Some(start) = self.take_run(from, order, run) else {
                break;
            };
            for index in 0..run {
                let address = start + index * block_bytes(order);
                self.mark(address, order, state);
                each(address);
            }
            taken += run;
        }
        self.count_out(order, taken);
        taken
    }

    /// Takes one block and cuts it into `1 << n_order` objects of `order`, all allocated.
    /// Returns the first; the others follow at a stride of their size.
    pub(crate) fn take_bulk(&mut self, order: u32, n_order: u32) -> Option<u32> {
        let start = self.take_run(order + n_order, order, 1 << n_order)?;
        for index in 0..1 << n_order {
            self.mark(
                start + index * block_bytes(order),
                order,
                BlockState::Allocated,
            );
        }
        self.count_out(order, 1 << n_order);
        Some(start)
    }

    /// Returns the block at `address` to the lists, merged with every free buddy.
    ///
    /// # Safety
    ///
    /// The block is out of this heap, of `order`, and nobody uses it any more.
    pub(crate) unsafe fn give(&mut self, address: u32, order: u32) {
        self.count_out(order, 1u32.wrapping_neg());
        self.insert(address, order);
    }

    /// Adds one chunk from `source`; `None` when the memory is at its maximum.
    pub(crate) fn grow(&mut self, source: &impl ChunkSource) -> Option<()> {
        let chunk = source.acquire()?;
        // SAFETY: the source just gave the chunk, its map zeroed.
        unsafe { self.adopt(chunk) };
        self.central.grows.add(1);
        Some(())
    }

    /// Makes the chunk at `chunk` part of the heap, all of it free but its map.
    ///
    /// # Safety
    ///
    /// The chunk is the caller's to give, and its map is zero.
    pub(crate) unsafe fn adopt(&mut self, chunk: u32) {
        // SAFETY: the caller's promise.
        unsafe { block_map::begin_chunk(self.memory, chunk) };
        self.chunks.set_owned(chunk, true);
        for order in MAP_ORDER..CHUNK_ORDER {
            self.list(chunk + block_bytes(order), order);
        }
        self.central.chunks.add(1);
        self.central.metadata_units.add(block_units(MAP_ORDER));
        self.central.free_units.add(USABLE_UNITS);
    }

    /// Gives the chunk that holds `address` back to `source` if it is wholly free and another one
    /// is too.
    pub(crate) fn trim(&mut self, source: &impl ChunkSource, address: u32) {
        let chunk = chunk_of(address);
        if self.chunks.free_units(chunk).get() < USABLE_UNITS
            || self.central.empty_chunks.get() <= 1
        {
            return;
        }
        for order in MAP_ORDER..CHUNK_ORDER {
            let block = chunk + block_bytes(order);
            // SAFETY: the chunk is wholly free and coalesced, so it consists of these blocks.
            unsafe { self.central.lists.remove(self.memory, order, block) };
            self.count_free(block, block_units(order).wrapping_neg());
        }
        self.central.chunks.sub(1);
        self.central.metadata_units.sub(block_units(MAP_ORDER));
        self.central.free_units.sub(USABLE_UNITS);
        self.chunks.set_owned(chunk, false);
        self.central.releases.add(1);
        // SAFETY: no list and no table knows the chunk any more, and its map is zeroed.
        unsafe {
            block_map::end_chunk(self.memory, chunk);
            source.release(chunk);
        }
    }

    /// Gives the whole arena back: every chunk, whatever is in it, but the one at `last`, which
    /// holds the heap's own state and is the caller's to release.
    ///
    /// # Safety
    ///
    /// Nobody uses the arena or anything allocated from it any more.
    pub(crate) unsafe fn dissolve(&mut self, source: &impl ChunkSource, last: u32) {
        for chunk in self.chunks.chunks().filter(|&chunk| chunk != last) {
            self.chunks.set_owned(chunk, false);
            // SAFETY: the caller promises that nothing in the chunk is used.
            unsafe {
                wipe_map(self.memory, chunk);
                source.release(chunk);
            }
        }
    }

    /// Finds a block of `from` or above, keeps `count` blocks of `order` at its start, and lists
    /// the rest.
    fn take_run(&mut self, from: u32, order: u32, count: u32) -> Option<u32> {
        let found = self.central.lists.first_at_least(from)?;
        let address = self.central.lists.head(found);
        // SAFETY: the lock is held and the block heads the list of `found`.
        unsafe { self.central.lists.remove(self.memory, found, address) };
        self.count_free(address, block_units(found).wrapping_neg());

        // Halve until the run fills more than half of what is left; then cut the tail that the
        // run does not reach into the blocks that halving it would leave.
        let run = block_units(order) * count;
        let start = unit_of(address);
        let mut end = start + block_units(found);
        let mut splits = 0;
        let mut piece = found;
        while piece > order && run <= block_units(piece - 1) {
            piece -= 1;
            end -= block_units(piece);
            splits += 1;
            self.list(chunk_of(address) + end * UNIT_BYTES, piece);
        }
        let mut tail = start + run;
        while tail < end {
            let size = tail.trailing_zeros().min((end - tail).ilog2());
            self.list(chunk_of(address) + tail * UNIT_BYTES, size);
            tail += block_units(size);
            splits += 1;
        }
        splits += count - 1;
        self.central.splits.add(splits.into());
        self.central.free_units.sub(run);
        Some(address)
    }

    /// Merges the block with its free buddies and lists what comes of it.
    fn insert(&mut self, address: u32, order: u32) {
        let chunk = chunk_of(address);
        let mut unit = unit_of(address);
        let mut merged = order;
        while merged < MAX_ORDER {
            let buddy = buddy_of(unit, merged);
            let buddy_address = chunk + buddy * UNIT_BYTES;
            // SAFETY: a buddy lies in the same chunk.
            let buddy_byte = unsafe { map_byte(self.memory, buddy_address) };
            if buddy_byte.get() != block_byte(BlockState::Free, merged) {
                break;
            }
            // SAFETY: the lock is held, and a block that is marked free is on its list.
            unsafe {
                self.central
                    .lists
                    .remove(self.memory, merged, buddy_address)
            };
            self.count_free(buddy_address, block_units(merged).wrapping_neg());
            let upper = chunk + unit.max(buddy) * UNIT_BYTES;
            // SAFETY: the upper half's start becomes interior, and the heap owns both halves.
            unsafe { map_byte(self.memory, upper) }.set(INTERIOR);
            unit = unit.min(buddy);
            merged += 1;
            self.central.merges.add(1);
        }
        self.list(chunk + unit * UNIT_BYTES, merged);
        self.central.free_units.add(block_units(order));
    }

    /// Marks the block free and puts it on its list.
    fn list(&mut self, address: u32, order: u32) {
        self.mark(address, order, BlockState::Free);
        // SAFETY: the lock is held; the caller took the block off every list or never listed it.
        unsafe { self.central.lists.push(self.memory, order, address) };
        self.count_free(address, block_units(order));
    }

    fn mark(&self, address: u32, order: u32, state: BlockState) {
        // SAFETY: the heap owns the block until it hands it out.
        unsafe { map_byte(self.memory, address) }.set(block_byte(state, order));
    }

    /// Adds to the free units of the chunk, and sees it become empty or cease to be; a negative
    /// count wraps.
    fn count_free(&self, address: u32, units: u32) {
        let of_chunk = self.chunks.free_units(address);
        let before = of_chunk.get();
        let after = before.wrapping_add(units);
        debug_assert!(after <= USABLE_UNITS && USABLE_UNITS < CHUNK_UNITS);
        of_chunk.set(after);
        if after == USABLE_UNITS {
            self.central.empty_chunks.add(1);
        } else if before == USABLE_UNITS {
            self.central.empty_chunks.sub(1);
        }
    }

    /// Adds to the blocks out of the heap; a negative count wraps.
    fn count_out(&self, order: u32, blocks: u32) {
        self.central.out[order as usize].add(blocks);
    }
}

/// Zeroes the whole map of a chunk, whatever blocks it has.
///
/// # Safety
///
/// Nobody uses the chunk any more.
pub(crate) unsafe fn wipe_map(memory: Memory, chunk: u32) {
    // SAFETY: the map is the chunk's first 65,536 bytes.
    unsafe {
        memory
            .pointer::<u8>(chunk)
            .write_bytes(0, CHUNK_UNITS as usize)
    };
}
