//! Where the words of an arena stand in memory, for readers in other languages.
//!
//! The page and the JavaScript package read an arena's state straight from the shared memory.
//! They take every offset from here, so that none is ever typed twice.

use crate::cache::lifo::Lifo;
use crate::cache::slot::{Slot, Traffic};
use crate::cache::transfer::Transfer;
use crate::config::MAX_CACHED_ORDERS;
use crate::header::{Header, MAGIC};
use crate::heap::block_map::{ChunkKind, ChunkTable};
use crate::order::{CHUNK_BYTES, CHUNK_ORDER, MAX_CHUNKS, UNIT_BYTES};
use core::mem::offset_of;

macro_rules! layout {
    ($($(#[$doc:meta])* $name:ident = $value:expr;)*) => {
        /// Byte offsets and sizes. Words are little-endian; `u32` unless said otherwise.
        #[derive(Clone, Copy, Debug)]
        #[cfg_attr(
            feature = "serde",
            derive(serde::Serialize),
            serde(rename_all = "camelCase")
        )]
        pub struct Layout {
            $($(#[$doc])* pub $name: u32,)*
        }

        impl Layout {
            /// The layout of this build: what [`LAYOUT_VERSION`](crate::LAYOUT_VERSION) names.
            pub const CURRENT: Self = Self { $($name: $value as u32,)* };
        }
    };
}

layout! {
    /// The version of the layout.
    version = crate::LAYOUT_VERSION;
    /// Bytes of a unit.
    unit_bytes = UNIT_BYTES;
    /// Bytes of a chunk. A chunk begins with its block map, one byte a unit.
    chunk_bytes = CHUNK_BYTES;
    /// Chunks in the largest memory.
    max_chunks = MAX_CHUNKS;
    /// Orders that central blocks can have.
    orders = CHUNK_ORDER;
    /// Orders that can be cached.
    max_cached_orders = MAX_CACHED_ORDERS;

    /// Bytes of the header, from its start, that hold every word of it that is named here.
    header_read_bytes = offset_of!(Header, central.table) + ChunkTable::KINDS_OFFSET + MAX_CHUNKS;
    /// In the header: the word that says that an arena is there, written last when it is made.
    header_magic = offset_of!(Header, magic);
    /// That word.
    magic = MAGIC;
    /// In the header: the version of its layout.
    header_version = offset_of!(Header, version);
    /// In the header: the header's own address.
    header_address = offset_of!(Header, address);
    /// In the header: the nine settings, one word each, in the order of [`Config`](crate::Config).
    header_config = offset_of!(Header, config);
    /// In the header: address of the slot directory.
    header_slot_directory = offset_of!(Header, slots.directory);
    /// In the header: slots made, the first entries of the directory.
    header_slots_made = offset_of!(Header, slots.made);
    /// In the header: one byte a chunk of the memory, which says what the chunk is to the arena.
    header_chunk_kinds = offset_of!(Header, central.table) + ChunkTable::KINDS_OFFSET;
    /// A chunk's byte: cut into blocks.
    chunk_kind_blocks = ChunkKind::Blocks;
    /// A chunk's byte: the first of a huge block.
    chunk_kind_huge = ChunkKind::Huge;
    /// A chunk's byte: another of the huge block whose first one is below it.
    chunk_kind_huge_rest = ChunkKind::HugeRest;
    /// A chunk's byte: the first of a huge block that was freed and waits on the deferred list.
    chunk_kind_huge_deferred = ChunkKind::HugeDeferred;
    /// In the header: the transfer caches, one after the other by order.
    header_transfers = offset_of!(Header, transfers);
    /// In the header: chunks of blocks.
    header_chunks = offset_of!(Header, central.chunks);
    /// In the header: chunks of huge blocks.
    header_huge_chunks = offset_of!(Header, central.huge_chunks);
    /// In the header: units on the free lists.
    header_free_units = offset_of!(Header, central.free_units);
    /// In the header: units of metadata.
    header_metadata_units = offset_of!(Header, central.metadata_units);
    /// In the header: blocks out of the heap, one word an order.
    header_blocks_out = offset_of!(Header, central.out);
    /// In the header: blocks halved (64 bits).
    header_splits = offset_of!(Header, central.splits);
    /// In the header: buddies joined (64 bits).
    header_merges = offset_of!(Header, central.merges);
    /// In the header: chunks taken from the source (64 bits).
    header_grows = offset_of!(Header, central.grows);
    /// In the header: chunks given back to the source (64 bits).
    header_releases = offset_of!(Header, central.releases);
    /// In the header: times that the heap lock was taken (64 bits).
    header_heap_locks = offset_of!(Header, central.locks);

    /// Bytes of a transfer cache in the header.
    transfer_bytes = size_of::<Transfer>();
    /// In a transfer cache: objects.
    transfer_count = offset_of!(Transfer, count);
    /// In a transfer cache: room.
    transfer_capacity = offset_of!(Transfer, capacity);

    /// In a slot: the number of the agent whose worker sits there; 0: nobody.
    slot_attached = offset_of!(Slot, attached);
    /// In a slot: 0, or in checking mode the address of its part for that, which begins with the
    /// stacks in use; those of the slot itself are then closed.
    slot_checked = offset_of!(Slot, checked);
    /// In a slot: its number.
    slot_number = offset_of!(Slot, number);
    /// In a slot: address of the arena's header.
    slot_header = offset_of!(Slot, header);
    /// In a slot: the stacks, one after the other by order.
    slot_lifos = offset_of!(Slot, lifos);
    /// In a slot: what each order exchanged with the layers below, one record an order.
    slot_traffic = offset_of!(Slot, traffic);

    /// Bytes of a stack in a slot.
    lifo_bytes = size_of::<Lifo>();
    /// In a stack: address where the next object goes.
    lifo_top = offset_of!(Lifo, top);
    /// In a stack: address of its array.
    lifo_base = offset_of!(Lifo, base);
    /// In a stack: address behind the part of its array that may be used now.
    lifo_limit = offset_of!(Lifo, limit);
    /// In a stack: allocations served (64 bits).
    lifo_pops = offset_of!(Lifo, pops);
    /// Bytes of an entry of its array: the address of an object.
    lifo_entry_bytes = crate::cache::lifo::ENTRY_BYTES;

    /// Bytes of a traffic record. All of its words have 64 bits.
    traffic_bytes = size_of::<Traffic>();
    /// In a traffic record: batches from a transfer cache.
    traffic_refills_from_transfer = offset_of!(Traffic, refills_from_transfer);
    /// In a traffic record: batches from the central heap.
    traffic_refills_from_heap = offset_of!(Traffic, refills_from_heap);
    /// In a traffic record: objects that came in batches.
    traffic_objects_in = offset_of!(Traffic, objects_in);
    /// In a traffic record: batches to a transfer cache.
    traffic_spills_to_transfer = offset_of!(Traffic, spills_to_transfer);
    /// In a traffic record: batches to the central heap.
    traffic_spills_to_heap = offset_of!(Traffic, spills_to_heap);
    /// In a traffic record: objects that left in batches.
    traffic_objects_out = offset_of!(Traffic, objects_out);
    /// In a traffic record: blocks allocated one at a time.
    traffic_direct_allocations = offset_of!(Traffic, direct_allocations);
    /// In a traffic record: blocks freed one at a time.
    traffic_direct_frees = offset_of!(Traffic, direct_frees);
}

// The chunk kinds are the last word of the header that is named.
const _: () = assert!(
    Layout::CURRENT.header_transfers < Layout::CURRENT.header_chunk_kinds
        && Layout::CURRENT.header_heap_locks < Layout::CURRENT.header_chunk_kinds
);
