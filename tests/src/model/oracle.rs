//! The oracle, who makes each call of a script and knows what must come of it.

mod allocate;
mod release;
mod resize;

use super::Call;
use super::caches::Caches;
use crate::{
    CountedSource, Extent, FREE_BLOCKS_OF_A_CHUNK, Intervals, Object, free_blocks, prove,
    prove_idle,
};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use warena::{
    Arena, AttachError, CHUNK_BYTES, ChunkSource, Config, MAX_BLOCK_BYTES, MAX_ORDER, Worker,
    order_of,
};

const CHUNK: usize = CHUNK_BYTES as usize;
/// The order that stands for a huge block: above all others, and so never cached.
const HUGE: u32 = MAX_ORDER + 1;

/// A live object, and the bytes of its block.
struct Live {
    object: Object,
    bytes: usize,
}

impl Live {
    fn order(&self) -> u32 {
        if self.bytes < CHUNK {
            order_of(self.bytes as u32)
        } else {
            HUGE
        }
    }
}

/// The oracle, and the arena that it watches.
pub struct Oracle<'a> {
    arena: &'a Arena<&'a CountedSource>,
    source: &'a CountedSource,
    config: Config,
    workers: Vec<Worker<'a, &'a CountedSource>>,
    objects: BTreeMap<u32, Live>,
    live: Intervals,
    freed: Vec<u32>,
    caches: Caches,
    stamps: u64,
}

impl<'a> Oracle<'a> {
    /// Knows nothing yet.
    pub fn new(
        arena: &'a Arena<&'a CountedSource>,
        source: &'a CountedSource,
        config: Config,
    ) -> Self {
        Self {
            arena,
            source,
            config,
            workers: Vec::new(),
            objects: BTreeMap::new(),
            live: Intervals::default(),
            freed: Vec::new(),
            caches: Caches::new(config),
            stamps: 0,
        }
    }

    fn address(&self, pointer: *mut u8) -> u32 {
        let address = self.source.memory().address(pointer);
        address.expect("an object of this memory")
    }

    /// The key of a live object.
    fn choose(&self, object: usize) -> Option<u32> {
        let count = self.objects.len();
        let index = object.checked_rem(count)?;
        self.objects.keys().nth(index).copied()
    }

    /// Makes one call, and checks what it returns.
    pub fn make(&mut self, call: &Call) {
        match *call {
            Call::Attach => return self.attach(),
            Call::Grow { count } => return self.grow(count),
            _ => {}
        }
        let (&Call::Alloc { worker, .. }
        | &Call::AllocBulk { worker, .. }
        | &Call::Free { worker, .. }
        | &Call::FreeBulk { worker, .. }
        | &Call::FreeBad { worker, .. }
        | &Call::Realloc { worker, .. }
        | &Call::Reserve { worker, .. }
        | &Call::Flush { worker }
        | &Call::Detach { worker }) = call
        else {
            unreachable!("attaching and growing need no worker");
        };
        let Some(worker) = worker.checked_rem(self.workers.len()) else {
            return;
        };
        match *call {
            Call::Alloc { size, how, .. } => self.alloc(worker, size, how),
            Call::AllocBulk {
                size,
                n_order,
                grow,
                ..
            } => self.alloc_bulk(worker, size, n_order, grow),
            Call::Free { object, nowait, .. } => self.free(worker, object, nowait),
            Call::Realloc { object, size, .. } => self.realloc(worker, object, size),
            Call::Reserve { size, count, .. } => self.reserve(worker, size, count),
            Call::FreeBulk {
                first,
                count,
                twice,
                ..
            } => self.free_bulk(worker, first, count, twice),
            Call::FreeBad { object, bad, .. } => self.free_bad(worker, object, bad),
            Call::Flush { .. } => {
                self.workers[worker].flush().unwrap();
                self.caches.flush(self.workers[worker].slot());
            }
            Call::Detach { .. } => {
                let worker = self.workers.swap_remove(worker);
                self.caches.flush(worker.slot());
                worker.detach().ok().unwrap();
            }
            Call::Attach | Call::Grow { .. } => unreachable!("made above"),
        }
    }

    /// Attaches one more worker.
    pub fn attach(&mut self) {
        let full = self.workers.len() == self.config.max_workers as usize;
        let refused = self.source.refused();
        match self.arena.attach() {
            Ok(worker) => {
                assert!(!full);
                let slots = self.workers.iter().map(Worker::slot);
                assert!(slots.clone().all(|slot| slot != worker.slot()));
                self.workers.push(worker);
            }
            Err(AttachError::NoSlot) => assert!(full),
            Err(error) => {
                assert_eq!(error, AttachError::OutOfMemory);
                assert!(self.was_refused(refused, 1));
            }
        }
    }

    fn grow(&mut self, count: u32) {
        let (refused, held) = (self.source.refused(), self.source.held());
        let grown = self.arena.grow(count).unwrap();
        assert_eq!(self.source.held(), held + grown);
        assert!(grown == count || self.was_refused(refused, 1));
    }

    /// Whether growth by `count` chunks was refused, after `refused` refusals by the source, or is
    /// beyond the arena's limit.
    fn was_refused(&self, refused: u32, count: u32) -> bool {
        self.source.refused() > refused || self.source.held() + count > self.config.max_chunks
    }

    fn adopt(&mut self, pointer: NonNull<u8>, size: usize, bytes: usize) {
        self.stamps += 1;
        let address = self.address(pointer.as_ptr());
        assert!(
            !self.caches.holds(address),
            "{address:#x} is cached and allocated"
        );
        self.live.add(address as usize, bytes);
        // SAFETY: just allocated for `size` bytes, and overlaps nothing that is live.
        let object = unsafe { Object::adopt(pointer, size, self.stamps, Extent::Whole) };
        self.objects.insert(address, Live { object, bytes });
    }

    /// Forgets a live object, and returns its pointer and order.
    fn retire(&mut self, address: u32) -> (*mut u8, u32) {
        let live = self
            .objects
            .remove(&address)
            .expect("chosen among the live");
        self.live.remove(address as usize);
        self.freed.push(address);
        (live.object.retire(), live.order())
    }

    /// Compares the figures.
    pub fn check(&self) {
        let stats = self.arena.stats();
        assert_eq!(stats.allocated_bytes, self.live.bytes() as u64);
        assert_eq!(stats.cached_bytes, self.caches.cached_bytes());
        assert_eq!(stats.in_transfer_bytes, self.caches.in_transfer_bytes());
        assert_eq!(stats.workers as usize, self.workers.len());
        assert_eq!(stats.owned_bytes, u64::from(self.source.held()) << 20);
    }

    /// `verify()`, and every byte of every object.
    pub fn prove(&self) {
        let found = prove(self.arena);
        assert_eq!(self.arena.damage(), None);
        assert_eq!(found.allocated_objects, self.objects.len() as u64);
        self.objects.values().for_each(|live| live.object.check());
    }

    /// Frees everything, has everything returned to the heap, and proves that it coalesced.
    pub fn end(mut self) {
        if self.workers.is_empty() {
            self.attach();
        }
        // Without memory for a first worker there is nothing to free either.
        if let Some(worker) = self.workers.first() {
            let objects = std::mem::take(&mut self.objects);
            objects
                .into_values()
                .for_each(|live| live.object.free(worker));
        }
        self.workers
            .drain(..)
            .for_each(|worker| worker.detach().ok().unwrap());
        prove_idle(self.arena);
        // The last resort of an allocation that must fail is what empties the transfer caches.
        self.source.close(true);
        if let Ok(worker) = self.arena.attach() {
            let mut large = Vec::new();
            while let Ok(object) = worker.alloc(MAX_BLOCK_BYTES as usize) {
                large.push(object.as_ptr());
            }
            large
                .into_iter()
                .for_each(|pointer| worker.free(pointer).unwrap());
        }
        let found = prove_idle(self.arena);
        assert_eq!(found.in_transfer_bytes, 0);
        assert_eq!(found.free_bytes + found.metadata_bytes, found.owned_bytes);
        let mut of_chunks: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (address, order) in free_blocks(self.source.memory(), self.arena) {
            of_chunks
                .entry(address / CHUNK_BYTES)
                .or_default()
                .push(order);
        }
        // Of a chunk that nothing is in, one block each of its largest orders is left; and there
        // is one such chunk at most.
        let smallest = MAX_ORDER + 1 - FREE_BLOCKS_OF_A_CHUNK as u32;
        let bytes = |orders: &[u32]| orders.iter().map(|order| 16 << order).sum::<u32>();
        let empty: Vec<_> = of_chunks
            .into_values()
            .filter(|orders| bytes(orders) == CHUNK_BYTES - (16 << smallest))
            .collect();
        assert!(empty.len() <= 1, "{empty:?}");
        for mut orders in empty {
            orders.sort_unstable();
            assert!(orders.into_iter().eq(smallest..=MAX_ORDER));
        }
    }
}
