//! The root of an arena in memory, from which everything else of it is found.
//!
//! It stands in the arena's first chunk, right behind that chunk's block map: settings, the slot
//! directory, the central heap, the transfer caches and the chunk table.

use crate::agent::Agent;
use crate::cache::checked;
use crate::cache::slots::Slots;
use crate::cache::transfer::Transfer;
use crate::config::{Config, MAX_CACHED_ORDERS};
use crate::error::Busy;
use crate::heap::block_map::{ChunkKind, MAP_ORDER};
use crate::heap::central::{Central, Heap};
use crate::lock::Patience;
use crate::memory::Memory;
use crate::order::block_bytes;
use crate::source::ChunkSource;
use crate::sync::PlainU32;

/// "WARE", the first word of an arena's header.
pub(crate) const MAGIC: u32 = u32::from_le_bytes(*b"WARE");

/// The version of everything that an arena keeps in its memory. Agents with different ones do
/// not share an arena.
pub const LAYOUT_VERSION: u32 = 4;

/// Where a header stands in its chunk: the first block behind the block map.
pub(crate) const HEADER_OFFSET: u32 = block_bytes(MAP_ORDER);

/// The root. Zeroed memory, but for its first words, is an empty arena.
#[repr(C, align(64))]
pub(crate) struct Header {
    pub(crate) magic: PlainU32,
    pub(crate) version: PlainU32,
    /// The header's own address.
    pub(crate) address: PlainU32,
    pub(crate) config: SharedConfig,
    pub(crate) slots: Slots,
    /// In checking mode, address of a word a chunk of the memory: of a huge run that starts there,
    /// how many of its bytes nobody asked for.
    pub(crate) huge_padding: PlainU32,
    pub(crate) transfers: [Transfer; MAX_CACHED_ORDERS as usize],
    /// Last, since it ends in the chunk table, most of which no reader needs.
    pub(crate) central: Central,
}

/// [`Config`] as it stands in memory.
#[repr(C)]
pub(crate) struct SharedConfig {
    pub(crate) cached_orders: PlainU32,
    pub(crate) capacity: PlainU32,
    pub(crate) batch: PlainU32,
    pub(crate) transfer_capacity: PlainU32,
    pub(crate) max_workers: PlainU32,
    pub(crate) max_chunks: PlainU32,
    /// 1 in checking mode.
    pub(crate) checking: PlainU32,
    pub(crate) quarantine: PlainU32,
    pub(crate) burst_capacity: PlainU32,
}

impl SharedConfig {
    pub(crate) fn set(&self, config: &Config) {
        self.cached_orders.set(config.cached_orders);
        self.capacity.set(config.capacity);
        self.batch.set(config.batch);
        self.transfer_capacity.set(config.transfer_capacity);
        self.max_workers.set(config.max_workers);
        self.max_chunks.set(config.max_chunks);
        self.checking.set(config.checking.into());
        self.quarantine.set(config.quarantine);
        self.burst_capacity.set(config.burst_capacity);
    }

    pub(crate) fn get(&self) -> Config {
        Config {
            cached_orders: self.cached_orders.get(),
            capacity: self.capacity.get(),
            batch: self.batch.get(),
            transfer_capacity: self.transfer_capacity.get(),
            max_workers: self.max_workers.get(),
            max_chunks: self.max_chunks.get(),
            checking: checked::is_in_use() && self.checking.get() != 0,
            quarantine: self.quarantine.get(),
            burst_capacity: self.burst_capacity.get(),
        }
    }
}

impl Header {
    /// Whether `pointer` lies in a chunk of this arena.
    pub(crate) fn owns(&self, memory: Memory, pointer: *const u8) -> bool {
        memory.address(pointer).is_some_and(|address| {
            !matches!(
                self.central.table.kind(address),
                ChunkKind::Foreign | ChunkKind::Returned
            )
        })
    }

    /// Takes the heap lock, and frees what was deferred.
    #[inline]
    pub(crate) fn heap(
        &self,
        source: &impl ChunkSource,
        agent: Agent,
        patience: Patience,
    ) -> Result<Heap<'_>, Busy> {
        // SAFETY: the header lies in the source's memory.
        let mut heap = unsafe { self.central.lock(source.memory(), agent, patience) }?;
        heap.drain_deferred(source);
        Ok(heap)
    }
}

// A header is a block of half the map's size, the one that creating an arena cuts first.
#[cfg(not(loom))]
const _: () = assert!(size_of::<Header>() <= block_bytes(MAP_ORDER - 1) as usize);
