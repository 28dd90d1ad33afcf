//! The oracle, who makes each call of a script and knows what must come of it.

use super::caches::{Caches, Source};
use super::{Bad, Call, LARGEST};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use warena::{
    AllocError, Arena, AttachError, CHUNK_BYTES, ChunkSource, Config, FreeError, MAX_ORDER, Worker,
    order_of,
};
use warena_tests::{
    CountedSource, Extent, FREE_BLOCKS_OF_A_CHUNK, Intervals, Object, block_bytes, free_blocks,
    prove, prove_idle,
};

/// The oracle, and the arena that it watches.
pub struct Model<'a> {
    arena: &'a Arena<&'a CountedSource>,
    source: &'a CountedSource,
    config: Config,
    workers: Vec<Worker<'a, &'a CountedSource>>,
    objects: BTreeMap<u32, Object>,
    live: Intervals,
    freed: Vec<u32>,
    caches: Caches,
    stamps: u64,
}

impl<'a> Model<'a> {
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
        if let Call::Attach = call {
            return self.attach();
        }
        let (&Call::Alloc { worker, .. }
        | &Call::AllocBulk { worker, .. }
        | &Call::Free { worker, .. }
        | &Call::FreeBulk { worker, .. }
        | &Call::FreeBad { worker, .. }
        | &Call::Flush { worker }
        | &Call::Detach { worker }) = call
        else {
            unreachable!("attaching needs no worker");
        };
        let Some(worker) = worker.checked_rem(self.workers.len()) else {
            return;
        };
        match *call {
            Call::Alloc { size, .. } => self.alloc(worker, size),
            Call::AllocBulk { size, n_order, .. } => self.alloc_bulk(worker, size, n_order),
            Call::Free { object, .. } => self.free(worker, object),
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
            Call::Attach => unreachable!("made above"),
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
                assert!(self.source.refused() > refused);
            }
        }
    }

    /// What an allocation must fail with whatever the heap holds.
    fn impossible(size: usize) -> Option<AllocError> {
        match size {
            0 => Some(AllocError::ZeroSize),
            _ if size > 0xfff0_0000 => Some(AllocError::TooLarge),
            _ => None,
        }
    }

    fn alloc(&mut self, worker: usize, size: usize) {
        let before = self.arena.stats();
        let refused = self.source.refused();
        let result = self.workers[worker].alloc(size);
        if let Some(error) = Self::impossible(size) {
            assert_eq!(result, Err(error));
            assert_eq!(self.arena.stats(), before);
            return;
        }
        let slot = self.workers[worker].slot();
        let order = order_of(size as u32);
        let after = self.arena.stats();
        match self.caches.alloc(slot, order) {
            Source::Cache(wanted) => {
                let got = self.address(result.unwrap().as_ptr());
                assert!(
                    wanted.is_none_or(|wanted| wanted == got),
                    "not the one on top"
                );
                assert_eq!(after.heap_locks, before.heap_locks);
            }
            Source::Heap if after.refills_from_heap > before.refills_from_heap => {
                let brought = after.cached_bytes - before.cached_bytes;
                let count = brought as usize / block_bytes(size) + 1;
                self.caches.refilled(slot, order, count);
            }
            Source::Heap => self.heap_was_asked(slot, order, refused, result.err()),
        }
        if let Ok(pointer) = result {
            self.adopt(pointer, size);
        }
    }

    fn alloc_bulk(&mut self, worker: usize, size: usize, n_order: u32) {
        let refused = self.source.refused();
        let mut out = [std::ptr::null_mut(); 128];
        let result = self.workers[worker].alloc_bulk(size, n_order, &mut out);
        if let Some(error) = Self::impossible(size) {
            assert_eq!(result, Err(error));
            return;
        }
        let order = order_of(size as u32) + n_order;
        if order > MAX_ORDER {
            assert_eq!(result, Err(AllocError::TooLarge));
            return;
        }
        let slot = self.workers[worker].slot();
        self.heap_was_asked(slot, order, refused, result.err());
        let count = if result.is_ok() { 1 << n_order } else { 0 };
        for (index, &pointer) in out.iter().enumerate() {
            assert_eq!(pointer.is_null(), index >= count);
            if let Some(pointer) = NonNull::new(pointer) {
                assert_eq!(
                    pointer.as_ptr() as usize,
                    out[0] as usize + index * block_bytes(size)
                );
                self.adopt(pointer, size);
            }
        }
    }

    /// A block of `order` was asked of the heap, after `refused` refusals of growth so far. One
    /// more means that it gathered what the worker and the transfer caches held.
    fn heap_was_asked(&mut self, slot: u32, order: u32, refused: u32, error: Option<AllocError>) {
        let last_resort = self.source.refused() > refused;
        if last_resort {
            self.caches.flush(slot);
            self.caches.drain_transfers();
        }
        if let Some(error) = error {
            assert_eq!(error, AllocError::OutOfMemory);
            assert!(last_resort, "out of memory without asking for more");
            let large =
                free_blocks(self.source.memory(), self.arena).find(|&(_, free)| free >= order);
            assert_eq!(large, None, "out of memory with a block free");
        }
    }

    fn adopt(&mut self, pointer: NonNull<u8>, size: usize) {
        self.stamps += 1;
        let address = self.address(pointer.as_ptr());
        assert!(
            !self.caches.holds(address),
            "{address:#x} is cached and allocated"
        );
        self.live.add(address as usize, block_bytes(size));
        // SAFETY: just allocated for `size` bytes, and overlaps nothing that is live.
        let object = unsafe { Object::adopt(pointer, size, self.stamps, Extent::Whole) };
        self.objects.insert(address, object);
    }

    /// Forgets a live object, and returns its pointer and order.
    fn retire(&mut self, address: u32) -> (*mut u8, u32) {
        let object = self
            .objects
            .remove(&address)
            .expect("chosen among the live");
        self.live.remove(address as usize);
        self.freed.push(address);
        (object.retire(), order_of(object.size() as u32))
    }

    fn free(&mut self, worker: usize, object: usize) {
        let Some(address) = self.choose(object) else {
            return;
        };
        let (pointer, order) = self.retire(address);
        assert_eq!(self.workers[worker].free(pointer), Ok(()));
        let slot = self.workers[worker].slot();
        self.caches.free(slot, order, address);
    }

    fn free_bulk(&mut self, worker: usize, first: usize, count: usize, twice: bool) {
        let Some(first) = self.choose(first) else {
            return;
        };
        let chosen: Vec<_> = self
            .objects
            .range(first..)
            .map(|(&key, _)| key)
            .take(count)
            .collect();
        let mut pointers: Vec<_> = chosen.iter().map(|&key| self.retire(key).0).collect();
        let good = pointers.len();
        if twice {
            pointers.extend(pointers.first().copied());
        }
        let mut refused = Vec::new();
        let freed =
            self.workers[worker].free_bulk(&pointers, |index, error| refused.push((index, error)));
        assert_eq!(freed, good);
        // The chunk may have gone back to the source meanwhile.
        let expected = |&(index, error): &(usize, FreeError)| {
            index == good && [FreeError::NotAllocated, FreeError::Foreign].contains(&error)
        };
        assert!(refused.iter().all(expected), "{refused:?}");
        assert_eq!(refused.len(), pointers.len() - good);
    }

    fn free_bad(&mut self, worker: usize, object: usize, bad: Bad) {
        let memory = self.source.memory();
        let live = self.choose(object);
        let offset_of = |address: u32, share: u8| {
            let block = block_bytes(self.objects[&address].size());
            address
                + ((block * usize::from(share) / 256) & !15).clamp(16.min(block / 2), block - 1)
                    as u32
        };
        let address = match (bad, live) {
            (Bad::Null, _) => {
                let before = self.arena.stats();
                assert_eq!(self.workers[worker].free(std::ptr::null_mut()), Ok(()));
                assert_eq!(self.arena.stats(), before);
                return;
            }
            (Bad::Anywhere(address), _) => address,
            (Bad::Freed, _) if !self.freed.is_empty() => self.freed[object % self.freed.len()],
            (Bad::Interior(share), Some(live)) => offset_of(live, share),
            (Bad::Unaligned(offset), Some(live)) => live + offset as u32,
            _ => return,
        };
        // What was freed may have been allocated again: then the pointer is good.
        if self.objects.contains_key(&address) {
            return;
        }
        let expected = if self.live.around(address as usize).is_some() {
            vec![if address % 16 == 0 {
                FreeError::Interior
            } else {
                FreeError::Unaligned
            }]
        } else if address % 16 != 0 {
            // In a chunk of ours, in one that went back, or in none that we ever had.
            vec![
                FreeError::Unaligned,
                FreeError::NotAllocated,
                FreeError::Foreign,
            ]
        } else {
            self.caches.refusals(address)
        };
        let before = self.arena.stats();
        let error = self.workers[worker]
            .free(memory.pointer(address))
            .unwrap_err();
        assert!(
            expected.contains(&error),
            "{error:?} at {address:#x}, not {expected:?}"
        );
        assert_eq!(self.arena.stats(), before);
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
        assert_eq!(found.allocated_objects, self.objects.len() as u64);
        self.objects.values().for_each(Object::check);
    }

    /// Frees everything, has everything returned to the heap, and proves that it coalesced.
    pub fn end(mut self) {
        if self.workers.is_empty() {
            self.attach();
        }
        // Without memory for a first worker there is nothing to free either.
        if let Some(worker) = self.workers.first() {
            let objects = std::mem::take(&mut self.objects);
            objects.into_values().for_each(|object| object.free(worker));
        }
        self.workers
            .drain(..)
            .for_each(|worker| worker.detach().ok().unwrap());
        prove_idle(self.arena);
        // The last resort of an allocation that must fail is what empties the transfer caches.
        self.source.close(true);
        if let Ok(worker) = self.arena.attach() {
            let mut large = Vec::new();
            while let Ok(object) = worker.alloc(LARGEST) {
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
