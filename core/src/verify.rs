//! The proof that an arena is in order, block by block.
//!
//! What must hold, and what is walked to see it:
//!
//! 1. Every byte of a chunk belongs to one block: each chunk's map is walked from block to
//!    block, and no byte inside a block claims a start.
//! 2. A block's address is a multiple of its order's size.
//! 3. No two free buddies of one order exist.
//! 4. The counters are what the maps say.
//! 5. An object is in one place: the free lists hold exactly the blocks marked free, the caches
//!    exactly those marked cached, the transfer caches exactly those marked in transfer. The
//!    last two are compared by count and by a sum of hashes, so that the walk needs no memory;
//!    only when they differ are the culprits searched for one by one.
//!
//! 6. In checking mode: what is allocated, byte by byte, is what the maps say, and nobody wrote
//!    where nobody should.
//!
//! It reads and never writes, and holds the heap lock meanwhile. It is exact when no other call
//! is in flight; while others run it may report what is merely on its way.

use crate::damage::{Damage, DamageKind};
use crate::header::Header;
use crate::heap::block::{BlockState, INTERIOR, block_extent, block_state, is_whole_of};
use crate::heap::block_map::{ChunkKind, map_byte};
use crate::heap::central::Heap;
use crate::heap::extent::Extent;
use crate::heap::free_list::FreeNode;
use crate::heap::poison::{self, FREED, PADDING};
use crate::heap::shadow;
use crate::memory::Memory;
use crate::order::{
    CHUNK_BYTES, CHUNK_ORDER, CHUNK_UNITS, UNIT_BYTES, block_bytes, block_units, buddy_of,
};
use crate::stats;
use crate::sync::PlainU32;
use crate::violation::{Verification, Violation};

/// Objects of one state and order: how many, their units, and the sum of their hashes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    objects: u64,
    units: u64,
    hashes: u64,
}

impl Tally {
    fn add(&mut self, address: u32, extent: Extent) {
        self.units += u64::from(extent.units());
        // A multiplicative hash: sums of different sets of addresses differ but for one chance
        // in 2^64, where sums of the addresses themselves would often agree.
        let mixed = u64::from(address).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.objects += 1;
        self.hashes = self.hashes.wrapping_add(mixed ^ (mixed >> 29));
    }
}

const ORDERS: usize = CHUNK_ORDER as usize + 1;
const STATES: usize = 8;
type Tallies = [[Tally; ORDERS]; STATES];

/// The blocks of one chunk in address order, each proven to be in its place.
struct Blocks {
    memory: Memory,
    chunk: u32,
    unit: u32,
}

impl Iterator for Blocks {
    type Item = Result<(u32, BlockState, Extent), Violation>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.unit >= CHUNK_UNITS {
            return None;
        }
        let address = self.chunk + self.unit * UNIT_BYTES;
        // SAFETY: the chunk is the arena's, under the heap lock.
        let map = unsafe { map_byte(self.memory, address) };
        let (unit, byte) = (self.unit, map.get());
        self.unit = CHUNK_UNITS;
        let state = block_state(byte);
        if state == BlockState::Interior {
            return Some(Err(Violation::NoBlock { address, byte }));
        }
        let Some(extent) = block_extent(byte) else {
            return Some(Err(Violation::NoBlock { address, byte }));
        };
        let (order, units) = (extent.order(), extent.units());
        if !unit.is_multiple_of(block_units(order)) || unit + units > CHUNK_UNITS {
            return Some(Err(Violation::Misplaced { address, order }));
        }
        let inner = (1..units).map(|offset| address + offset * UNIT_BYTES);
        for inside in inner {
            // SAFETY: inside the block, so inside the chunk.
            if unsafe { map_byte(self.memory, inside) }.get() != INTERIOR {
                return Some(Err(Violation::Overlap { address, inside }));
            }
        }
        self.unit = unit + units;
        Some(Ok((address, state, extent)))
    }
}

/// Walks the arena of `header`, whose heap is locked.
pub(crate) fn verify(header: &Header, heap: &Heap<'_>) -> Result<Verification, Violation> {
    let memory = heap.memory();
    let mut maps: Tallies = Default::default();
    let mut result = Verification::default();
    for chunk in heap.chunks().of_kind(ChunkKind::Blocks) {
        let free = walk_chunk(memory, chunk, &mut maps)?;
        counter(
            "free units of a chunk",
            heap.chunks().free_units(chunk).get().into(),
            free,
        )?;
        result.chunks += 1;
    }
    check_free_lists(heap, &maps[BlockState::Free as usize])?;
    check_entries(header, memory, heap, &maps)?;
    check_strays(heap, &maps)?;
    if header.config.checking.get() != 0 {
        check_bytes(header, heap)?;
    }

    let bytes = |state: BlockState| {
        (0..ORDERS)
            .map(|order| maps[state as usize][order].units * u64::from(UNIT_BYTES))
            .sum::<u64>()
    };
    result.blocks = maps.iter().flatten().map(|tally| tally.objects).sum();
    let (huge_blocks, huge_chunks) = walk_huge(heap)?;
    let huge_bytes = huge_chunks * u64::from(CHUNK_BYTES);
    result.huge_blocks = huge_blocks;
    result.owned_bytes = u64::from(result.chunks) * u64::from(CHUNK_BYTES) + huge_bytes;
    result.free_bytes = bytes(BlockState::Free);
    result.allocated_bytes = bytes(BlockState::Allocated) + huge_bytes;
    result.allocated_objects = maps[BlockState::Allocated as usize]
        .iter()
        .map(|tally| tally.objects)
        .sum::<u64>()
        + huge_blocks;
    result.cached_bytes = bytes(BlockState::Cached);
    result.in_transfer_bytes = bytes(BlockState::InTransfer);
    result.deferred_bytes = bytes(BlockState::Deferred);
    result.metadata_bytes = bytes(BlockState::Metadata);

    let central = heap.central();
    counter("chunks", central.chunks.get().into(), result.chunks.into())?;
    counter("huge chunks", central.huge_chunks.get().into(), huge_chunks)?;
    let unit = u64::from(UNIT_BYTES);
    counter(
        "free bytes",
        u64::from(central.free_units.get()) * unit,
        result.free_bytes,
    )?;
    counter(
        "metadata bytes",
        u64::from(central.metadata_units.get()) * unit,
        result.metadata_bytes,
    )?;
    // Whoever takes the heap lock drains the list first.
    let deferred = u64::from(stats::deferred_units(header, memory)) * unit;
    counter("deferred bytes", deferred, result.deferred_bytes)?;
    for (order, counted) in central.out.iter().enumerate() {
        let out = [
            BlockState::Allocated,
            BlockState::Cached,
            BlockState::InTransfer,
            BlockState::Deferred,
        ]
        .map(|state| maps[state as usize][order].objects);
        counter(
            "blocks out of the heap",
            counted.get().into(),
            out.iter().sum(),
        )?;
    }
    Ok(result)
}

/// Follows each huge run over its chunks; returns the runs and their chunks. None is deferred:
/// whoever takes the heap lock drains that list first.
fn walk_huge(heap: &Heap<'_>) -> Result<(u64, u64), Violation> {
    let table = heap.chunks();
    if let Some(address) = table.of_kind(ChunkKind::HugeDeferred).next() {
        let state = BlockState::Deferred;
        return Err(Violation::Lost { address, state });
    }
    let (mut runs, mut chunks) = (0, 0);
    for start in table.of_kind(ChunkKind::Huge) {
        let count = table.run_chunks(start).get();
        for index in 1..count {
            let address = start + index * CHUNK_BYTES;
            if table.kind(address) != ChunkKind::HugeRest {
                return Err(Violation::HugeRun {
                    address: start,
                    count,
                });
            }
        }
        runs += 1;
        chunks += u64::from(count);
    }
    let rest = table.of_kind(ChunkKind::HugeRest).count() as u64;
    counter("chunks of huge runs", chunks, runs + rest)?;
    Ok((runs, chunks))
}

fn counter(name: &'static str, counted: u64, found: u64) -> Result<(), Violation> {
    if counted == found {
        Ok(())
    } else {
        Err(Violation::Counter {
            name,
            counted,
            found,
        })
    }
}

/// Tallies the blocks of `chunk` and returns its free units.
fn walk_chunk(memory: Memory, chunk: u32, maps: &mut Tallies) -> Result<u64, Violation> {
    let mut free_units = 0;
    let blocks = Blocks {
        memory,
        chunk,
        unit: 0,
    };
    // The free block before, if the next one could be its buddy.
    let mut before = None;
    for block in blocks {
        let (address, state, extent) = block?;
        let order = extent.order();
        // Both kinds of free blocks are on one list.
        let tallied = if state.is_free() {
            BlockState::Free
        } else {
            state
        };
        maps[tallied as usize][order as usize].add(address, extent);
        let unit = (address - chunk) / UNIT_BYTES;
        if state.is_free() {
            free_units += u64::from(block_units(order));
            if before == Some((buddy_of(unit, order), order)) {
                let address = chunk + buddy_of(unit, order) * UNIT_BYTES;
                return Err(Violation::Uncoalesced { address, order });
            }
            before = Some((unit, order));
        } else {
            before = None;
        }
    }
    Ok(free_units)
}

/// Follows every list: each entry is marked free of that order and knows the one before it, and
/// there are as many as the maps have.
fn check_free_lists(heap: &Heap<'_>, free: &[Tally; ORDERS]) -> Result<(), Violation> {
    let memory = heap.memory();
    for order in 0..CHUNK_ORDER {
        let mut listed = Tally::default();
        let mut previous = 0;
        let mut address = heap.central().lists.head(order);
        while address != 0 {
            let broken = Violation::FreeList { address, order };
            if !address.is_multiple_of(block_bytes(order)) || !heap.chunks().has_map(address) {
                return Err(broken);
            }
            // SAFETY: aligned, and in a chunk of the arena.
            let (byte, node) =
                unsafe { (map_byte(memory, address), memory.at::<FreeNode>(address)) };
            let is_free = block_state(byte.get()).is_free() && is_whole_of(byte.get(), order);
            // A node knows one node before it, so a list that comes back to itself is seen here.
            if !is_free || node.previous.get() != previous {
                return Err(broken);
            }
            listed.add(address, Extent::whole(order));
            previous = address;
            address = node.next.get();
        }
        if listed != free[order as usize] {
            return Err(find_unlisted(heap, order).unwrap_or(Violation::Counter {
                name: "blocks on a free list",
                counted: listed.objects,
                found: free[order as usize].objects,
            }));
        }
    }
    Ok(())
}

fn find_unlisted(heap: &Heap<'_>, wanted: u32) -> Option<Violation> {
    let memory = heap.memory();
    all_blocks(heap)
        .filter(|&(_, state, extent)| state.is_free() && extent.order() == wanted)
        .find(|&(address, ..)| {
            let mut listed = heap.central().lists.head(wanted);
            while listed != 0 && listed != address {
                // SAFETY: every entry of the list was found sound before.
                listed = unsafe { memory.at::<FreeNode>(listed) }.next.get();
            }
            listed == 0
        })
        .map(|(address, state, _)| Violation::Lost { address, state })
}

/// Every block of every chunk, whose maps were found sound before.
fn all_blocks(heap: &Heap<'_>) -> impl Iterator<Item = (u32, BlockState, Extent)> {
    let memory = heap.memory();
    heap.chunks()
        .of_kind(ChunkKind::Blocks)
        .flat_map(move |chunk| Blocks {
            memory,
            chunk,
            unit: 0,
        })
        .filter_map(Result::ok)
}

/// Every object that some place holds as one of `order`, with the state that it must have: the
/// entries in use of each cache, the quarantines' objects of that order, then the entries of the
/// transfer cache.
fn places<'a>(
    header: &'a Header,
    memory: Memory,
    order: u32,
) -> impl Iterator<Item = (BlockState, u32)> + 'a {
    let used =
        |entries: &'a [PlainU32], count: u32| entries[..count as usize].iter().map(PlainU32::get);
    let cached = header.slots.iter(memory).flat_map(move |slot| {
        let lifo = slot.stacks(memory).get(order as usize);
        let stacked = lifo.map(|lifo| used(lifo.entries(memory), lifo.fill()));
        let checked = slot.checked(memory).into_iter();
        let quarantined = checked.flat_map(move |checked| checked.quarantine.iter(memory));
        let of_order =
            quarantined.filter(move |&address| quarantined_order(header, memory, address) == order);
        stacked.into_iter().flatten().chain(of_order)
    });
    let transfer = header.transfers.get(order as usize);
    let spare = transfer.map(|transfer| used(transfer.entries(memory), transfer.count.get()));
    let spare = spare.into_iter().flatten();
    cached
        .map(|address| (BlockState::Cached, address))
        .chain(spare.map(|address| (BlockState::InTransfer, address)))
}

/// The order that the map has for an object in a quarantine; 0 if it is nothing that could be there.
fn quarantined_order(header: &Header, memory: Memory, address: u32) -> u32 {
    let owned = address.is_multiple_of(UNIT_BYTES) && header.central.table.has_map(address);
    // SAFETY: aligned, and in a chunk of the arena.
    owned
        .then(|| block_extent(unsafe { map_byte(memory, address) }.get()))
        .flatten()
        .map_or(0, Extent::order)
}

/// Looks for deferred blocks, which nothing can hold: whoever takes the heap lock drains that list
/// first.
fn check_strays(heap: &Heap<'_>, maps: &Tallies) -> Result<(), Violation> {
    let state = BlockState::Deferred;
    let none = maps[state as usize].iter().all(|tally| tally.objects == 0);
    let stray = || all_blocks(heap).find(|&(_, found, _)| found == state);
    match (!none).then(stray).flatten() {
        None => Ok(()),
        Some((address, ..)) => Err(Violation::Lost { address, state }),
    }
}

/// Checking mode: the shadow map says that nothing of a block is allocated unless the block is, no
/// byte behind an allocated object was written, and none of an object in a quarantine.
fn check_bytes(header: &Header, heap: &Heap<'_>) -> Result<(), Violation> {
    let memory = heap.memory();
    for (address, state, extent) in all_blocks(heap) {
        let order = extent.order();
        // SAFETY: the mode gives every chunk of blocks a shadow map; the block lies in one.
        let size = unsafe { shadow::size(memory, address, order) };
        // A block may be allocated and nothing of it asked for: an agent ended as it was handed out.
        if size > 0 && state != BlockState::Allocated {
            return Err(Violation::Shadow { address, size });
        }
        if size > 0 {
            let padding = size..block_bytes(order);
            // SAFETY: the block is allocated, and stays so while no other call is in flight.
            let found = unsafe { poison::first_damaged(memory, address, padding, PADDING) };
            intact(DamageKind::BehindObject, address, found)?;
        }
    }
    let checked = header
        .slots
        .iter(memory)
        .filter_map(|slot| slot.checked(memory));
    for address in checked.flat_map(|checked| checked.quarantine.iter(memory)) {
        let bytes = 0..block_bytes(quarantined_order(header, memory, address));
        // SAFETY: found to be a block of the arena before; as above.
        let found = unsafe { poison::first_damaged(memory, address, bytes, FREED) };
        intact(DamageKind::AfterFree, address, found)?;
    }
    Ok(())
}

fn intact(kind: DamageKind, address: u32, found: Option<(u32, u8)>) -> Result<(), Violation> {
    match found {
        None => Ok(()),
        Some((offset, found)) => Err(Violation::Damaged(Damage {
            kind,
            address,
            offset,
            found,
        })),
    }
}

/// Looks at every object that a cache holds, and at every block that claims to be in one.
fn check_entries(
    header: &Header,
    memory: Memory,
    heap: &Heap<'_>,
    maps: &Tallies,
) -> Result<(), Violation> {
    for order in 0..CHUNK_ORDER {
        let mut held = [Tally::default(); STATES];
        for (state, address) in places(header, memory, order) {
            let owned = address.is_multiple_of(UNIT_BYTES) && heap.chunks().has_map(address);
            let byte = if owned {
                // SAFETY: aligned, and in a chunk of the arena.
                unsafe { map_byte(memory, address) }.get()
            } else {
                INTERIOR
            };
            if block_state(byte) != state || !is_whole_of(byte, order) {
                return Err(Violation::Entry {
                    address,
                    order,
                    byte,
                });
            }
            held[state as usize].add(address, Extent::whole(order));
        }
        for state in [BlockState::Cached, BlockState::InTransfer] {
            let found = maps[state as usize][order as usize];
            if held[state as usize] != found {
                return Err(find_misheld(header, memory, heap, order, state).unwrap_or(
                    Violation::Counter {
                        name: "objects in caches",
                        counted: held[state as usize].objects,
                        found: found.objects,
                    },
                ));
            }
        }
    }
    Ok(())
}

/// The object that two places hold, or that none does, although it is marked `state`.
fn find_misheld(
    header: &Header,
    memory: Memory,
    heap: &Heap<'_>,
    wanted: u32,
    state: BlockState,
) -> Option<Violation> {
    all_blocks(heap)
        .filter(|&(_, found, extent)| found == state && extent.order() == wanted)
        .find_map(|(address, ..)| {
            let holders = places(header, memory, wanted)
                .filter(|&(_, held)| held == address)
                .count();
            match holders {
                0 => Some(Violation::Lost { address, state }),
                1 => None,
                _ => Some(Violation::Twice { address }),
            }
        })
}
