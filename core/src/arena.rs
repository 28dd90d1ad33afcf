//! An arena: one allocator inside a memory, and the handle that an agent has on it.
//!
//! Everything about an arena lives in its chunks: the header in the first, slots and tables in
//! blocks of metadata. So the header's address is all that another agent needs to [`open`] it,
//! and nothing of it dies with the agent that made it.
//!
//! [`open`]: Arena::open

use crate::agent::{Agent, agent_number};
use crate::cache::checked;
use crate::cache::lifo::ENTRY_BYTES;
use crate::check::{self, CheckError};
use crate::config::Config;
use crate::damage::Damage;
use crate::error::{ArenaError, AttachError, Busy, ReapError};
use crate::header::{HEADER_OFFSET, Header, LAYOUT_VERSION, MAGIC};
use crate::heap::central::Heap;
use crate::lock::Context;
use crate::memory::Memory;
use crate::order::{CHUNK_BYTES, MAX_CHUNKS, order_of};
use crate::reap::{self, Reaped};
use crate::slot_stats::SlotStats;
use crate::snapshot::{self, SeenBlock};
use crate::source::ChunkSource;
use crate::stats::Stats;
use crate::verify;
use crate::violation::{Verification, Violation};
use crate::worker::Worker;

/// A handle on an arena: where it is, who supplies its chunks, and whether its agent may wait.
///
/// Dropping the handle leaves the arena as it is; [`destroy`](Self::destroy) ends it.
#[derive(Clone, Copy)]
pub struct Arena<S> {
    address: u32,
    memory: Memory,
    source: S,
    context: Context,
}

impl<S: ChunkSource> Arena<S> {
    /// Makes an arena from one chunk of `source`. `context` says whether the calling agent may
    /// wait for a lock.
    ///
    /// Other agents learn the arena's address by a message or a shared word that orders what
    /// this one wrote before it, as every hand-over of memory must.
    pub fn create(source: S, config: Config, context: Context) -> Result<Self, ArenaError> {
        config.check().map_err(ArenaError::Config)?;
        if config.checking {
            checked::note_use();
        }
        Self::make(source, config, context)
    }

    /// [`create`](Self::create) with settings that were checked, and are without checking mode unless
    /// its use is noted.
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    pub(crate) fn make(source: S, config: Config, context: Context) -> Result<Self, ArenaError> {
        let memory = source.memory();
        let run = source.acquire(1, 0).ok_or(ArenaError::OutOfMemory)?;
        let arena = Self {
            address: run.address + HEADER_OFFSET,
            memory,
            source,
            context,
        };
        // SAFETY: the chunk is ours alone until the arena's address is known to anybody.
        unsafe {
            memory.pointer::<Header>(arena.address).write_bytes(0, 1);
        }
        let header = arena.header();
        let mut heap = arena.heap()?;
        header.central.max_chunks.set(config.max_chunks);
        header.central.shadowed.set(config.checking.into());
        // SAFETY: the chunk is ours. Listing its blocks writes the first two words of the first of
        // them, which is where the header starts: `magic` and `version`, set below.
        unsafe { heap.adopt(run) };
        let own = heap.take_metadata(order_of(size_of::<Header>() as u32));
        debug_assert_eq!(own, Some(arena.address));
        header.address.set(arena.address);
        header.config.set(&config);
        arena
            .make_tables(&mut heap, &config)
            .ok_or(ArenaError::OutOfMemory)?;
        drop(heap);
        header.magic.set(MAGIC);
        header.version.set(LAYOUT_VERSION);
        Ok(arena)
    }

    /// The slot directory, the arrays of the transfer caches, and what checking mode needs.
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    fn make_tables(&self, heap: &mut Heap<'_>, config: &Config) -> Option<()> {
        let header = self.header();
        let directory = heap.take_metadata(order_of(config.max_workers * 4))?;
        header.slots.directory.set(directory);
        if config.cached_orders > 0 && config.transfer_capacity > 0 {
            let rooms = (0..config.cached_orders).map(|order| config.transfer_room(order));
            let bytes = rooms.clone().sum::<u32>() * ENTRY_BYTES;
            let mut array = heap.take_metadata(order_of(bytes))?;
            for (room, transfer) in rooms.zip(&header.transfers) {
                transfer.begin(array, room);
                array += room * ENTRY_BYTES;
            }
        }
        if config.checking {
            let padding = heap.take_metadata(order_of(MAX_CHUNKS as u32 * 4))?;
            header.huge_padding.set(padding);
        }
        Some(())
    }

    /// Opens the arena whose header is at `address` of the source's memory.
    ///
    /// # Safety
    ///
    /// `address` came from [`Arena::address`] of a live arena, or the memory is readable there
    /// for the length of a header (32 KiB): a wrong address is then found out.
    pub unsafe fn open(source: S, address: u32, context: Context) -> Result<Self, ArenaError> {
        if address % CHUNK_BYTES != HEADER_OFFSET {
            return Err(ArenaError::NotAnArena);
        }
        let arena = Self::known(source, address, context);
        let header = arena.header();
        if header.magic.get() != MAGIC || header.address.get() != address {
            return Err(ArenaError::NotAnArena);
        }
        match header.version.get() {
            LAYOUT_VERSION => {
                if header.config.checking.get() != 0 {
                    checked::note_use();
                }
                Ok(arena)
            }
            other => Err(ArenaError::Version(other)),
        }
    }

    /// The handle on the arena whose header is at `address`, where surely one is.
    pub(crate) fn known(source: S, address: u32, context: Context) -> Self {
        Self {
            address,
            memory: source.memory(),
            source,
            context,
        }
    }

    /// The address of the header: what another agent opens the arena by.
    pub fn address(&self) -> u32 {
        self.address
    }

    /// The settings that the arena was made with.
    pub fn config(&self) -> Config {
        self.header().config.get()
    }

    /// Takes a slot for the calling agent. May wait for the heap lock where the context allows.
    pub fn attach(&self) -> Result<Worker<'_, S>, AttachError> {
        let header = self.header();
        let mut heap = self.heap()?;
        let slot = header.slots.take(
            &mut heap,
            &self.source,
            self.context,
            &self.config(),
            self.address,
        )?;
        drop(heap);
        // SAFETY: the slot was just taken, and for this worker alone.
        Ok(unsafe { Worker::at(&self.source, slot) })
    }

    /// Adds `count` chunks to the arena, so that later allocations need not grow it. Returns how
    /// many there were before the memory, or `max_chunks`, was at its maximum.
    pub fn grow(&self, count: u32) -> Result<u32, Busy> {
        let mut heap = self.heap()?;
        Ok((0..count).map_while(|_| heap.grow(&self.source)).count() as u32)
    }

    /// Figures that add up; a sample while workers run. Locks nothing.
    pub fn stats(&self) -> Stats {
        Stats::sample(self.header(), self.memory)
    }

    /// Figures of one slot; `None` for one that was never made. Locks nothing.
    pub fn slot_stats(&self, slot: u32) -> Option<SlotStats> {
        let mut slots = self.header().slots.iter(self.memory);
        let slot = slots.nth(slot as usize)?;
        Some(SlotStats::sample(slot, self.memory))
    }

    /// Every block of the arena, huge ones last: a sample while workers run. Locks nothing.
    pub fn snapshot(&self) -> impl Iterator<Item = SeenBlock> {
        snapshot::blocks(self.header(), self.memory)
    }

    /// Proves that the arena is in order, or names the first block that is not. Exact when no
    /// other call is in flight; holds the heap lock for as long as it takes to read every block
    /// map.
    pub fn verify(&self) -> Result<Verification, Violation> {
        let header = self.header();
        let heap = self.heap().map_err(|Busy| Violation::Busy)?;
        verify::verify(header, &heap)
    }

    /// Checking mode: whether every byte of the `length` bytes from `pointer` on is allocated, that
    /// is, was asked for and is not freed; else the first that is not. Cached, deferred and
    /// quarantined objects count as freed, and so does the padding behind an object. Locks nothing;
    /// as exact as the moment while workers run.
    pub fn check(&self, pointer: *const u8, length: usize) -> Result<(), CheckError> {
        check::check(self.header(), self.memory, pointer, length)
    }

    /// Checking mode: the first damage that some worker found, when it freed an object or took one
    /// out of its quarantine. [`Stats::damages`] counts all. Exact when no other call is in flight.
    pub fn damage(&self) -> Option<Damage> {
        let mut slots = self.header().slots.iter(self.memory);
        slots.find_map(|slot| slot.checked(self.memory)?.first_damage())
    }

    /// Takes in what an agent that has ended left in this arena: locks that it held, what it was doing
    /// behind them, the objects that it cached or was moving, its slots. What its program had allocated
    /// stays so; [`snapshot`](Self::snapshot) lists it. Nothing happens when there is nothing left, so
    /// two agents may reap the same one, or one agent twice.
    ///
    /// # Safety
    ///
    /// The agent of that number ([`agent_number`](crate::agent_number)) has ended: it executes
    /// nothing any more, and what it wrote is visible to the caller, as it is to who joins a thread or
    /// is told by the host.
    pub unsafe fn reap_agent(&self, agent: u32) -> Result<Reaped, ReapError> {
        if agent == agent_number() {
            return Err(ReapError::Live);
        }
        if agent == 0 || agent >= Agent::UNKNOWN.number() {
            return Ok(Reaped::default());
        }
        let (dead, patience) = (Agent::numbered(agent), self.context.into());
        // SAFETY: the caller's promise, passed on.
        Ok(unsafe { reap::reap(self.header(), &self.source, dead, patience) }?)
    }

    /// [`reap_agent`](Self::reap_agent) of the agent whose worker sits in that slot. Nothing happens
    /// when nobody sits there.
    ///
    /// # Safety
    ///
    /// As [`reap_agent`](Self::reap_agent): the agent in the slot has ended.
    pub unsafe fn reap(&self, slot: u32) -> Result<Reaped, ReapError> {
        let slot = self.slot_stats(slot).ok_or(ReapError::NoSlot)?;
        // SAFETY: the caller's promise, passed on.
        unsafe { self.reap_agent(slot.agent) }
    }

    /// Ends the arena: all its chunks go back to the source, whatever is allocated in them.
    ///
    /// # Safety
    ///
    /// No worker is attached, no other handle is used again, and nothing that was allocated from
    /// the arena is touched again.
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    pub unsafe fn destroy(self) -> Result<(), Busy> {
        let header = self.header();
        let chunk = self.address - HEADER_OFFSET;
        let mut heap = self.heap()?;
        header.magic.set(0);
        // SAFETY: the caller promises that nobody uses the arena any more.
        unsafe {
            heap.dissolve(&self.source, chunk);
            drop(heap);
            self.source.release(chunk, 1);
        }
        Ok(())
    }

    fn heap(&self) -> Result<Heap<'_>, Busy> {
        self.header()
            .heap(&self.source, Agent::current(), self.context.into())
    }

    pub(crate) fn header(&self) -> &Header {
        // SAFETY: `create` zeroed a header there and `open` found one; it stays for as long as
        // the arena lives, which outlives every use of this handle.
        unsafe { self.memory.at(self.address) }
    }
}
