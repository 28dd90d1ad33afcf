//! The oracle, who makes each call of a script and knows what must come of it.

use super::caches::{Caches, Source};
use super::{Bad, Call, How};
use crate::{
    CountedSource, Extent, FREE_BLOCKS_OF_A_CHUNK, Intervals, Object, block_at, block_bytes,
    free_blocks, prove, prove_idle,
};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use warena::{
    AllocError, Arena, AttachError, CHUNK_BYTES, ChunkSource, Config, FreeError, MAX_BLOCK_BYTES,
    MAX_ORDER, ReallocError, Stats, Worker, order_of,
};

const CHUNK: usize = CHUNK_BYTES as usize;
/// The order that stands for a huge block: above all others, and so never cached.
const HUGE: u32 = MAX_ORDER + 1;

/// An allocation as the heap sees it.
struct Asked {
    /// Bytes of the block.
    bytes: usize,
    alignment: usize,
    /// Whether it looks into the caches first.
    by_cache: bool,
    /// Whether the arena may grow for it.
    grow: bool,
    /// Whether it may have the caches emptied before it gives up.
    gather: bool,
    /// Whether what is counted includes one free.
    and_free: bool,
}

impl Asked {
    fn order(&self) -> u32 {
        if self.bytes < CHUNK {
            order_of(self.bytes as u32)
        } else {
            HUGE
        }
    }
}

/// What must come of a resize.
struct Resize {
    /// Whether the block stays where it is.
    stays: bool,
    /// Whether that takes the heap lock to find out.
    lock: bool,
}

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

    /// What an allocation must fail with whatever the heap holds.
    fn impossible(size: usize) -> Option<AllocError> {
        match size {
            0 => Some(AllocError::ZeroSize),
            _ if size > 0xfff0_0000 => Some(AllocError::TooLarge),
            _ => None,
        }
    }

    fn alloc(&mut self, worker: usize, size: usize, how: How) {
        let before = self.arena.stats();
        let refused = self.source.refused();
        let handle = &self.workers[worker];
        let result = match how {
            How::Plain => handle.alloc(size),
            How::Zeroed => handle.alloc_zeroed(size),
            How::Aligned(exponent) => handle.alloc_aligned(size, 1 << exponent),
            How::NoGrow => handle.alloc_nogrow(size),
            How::NoWait => handle.alloc_nowait(size),
        };
        let bad_alignment = matches!(how, How::Aligned(21..)).then_some(AllocError::BadAlignment);
        if let Some(error) = bad_alignment.or(Self::impossible(size)) {
            assert_eq!(result, Err(error));
            assert_eq!(self.arena.stats(), before);
            return;
        }
        let mut bytes = block_bytes(size);
        let mut alignment = bytes.min(CHUNK);
        if let How::Aligned(exponent) = how {
            alignment = alignment.max(1 << exponent);
            bytes = bytes.max(if alignment == CHUNK { CHUNK } else { 0 });
        }
        if let Ok(pointer) = result {
            assert_eq!(pointer.as_ptr() as usize % alignment, 0);
            let usable = self.workers[worker].usable_size(pointer.as_ptr());
            assert_eq!(usable, Ok(bytes));
            if how == How::Zeroed {
                // SAFETY: just allocated for `size` bytes.
                let bytes = unsafe { std::slice::from_raw_parts(pointer.as_ptr(), size) };
                assert!(bytes.iter().all(|&byte| byte == 0), "not zeroed");
            }
        }
        let asked = Asked {
            bytes,
            alignment,
            by_cache: alignment == bytes,
            grow: !matches!(how, How::NoGrow | How::NoWait),
            gather: how != How::NoWait,
            and_free: false,
        };
        let locks = self.arena.stats().heap_locks - before.heap_locks;
        let got = result.map(|pointer| self.address(pointer.as_ptr()));
        self.allocated(worker, &asked, &before, refused, locks, got);
        if let Ok(pointer) = result {
            self.adopt(pointer, size, bytes);
        }
    }

    /// One block was asked for, and `got` came of it, by so many takings of the heap lock: sees
    /// that it came from where it had to.
    fn allocated(
        &mut self,
        worker: usize,
        asked: &Asked,
        before: &Stats,
        refused: u32,
        locks: u64,
        got: Result<u32, AllocError>,
    ) {
        let slot = self.workers[worker].slot();
        let after = self.arena.stats();
        let from = if asked.by_cache {
            self.caches.alloc(slot, asked.order())
        } else {
            Source::Heap
        };
        match from {
            Source::Cache(wanted) => {
                let got = got.expect("a cache holds one");
                assert!(wanted.is_none_or(|wanted| wanted == got), "not the top one");
                assert!(locks <= asked.and_free.into(), "a hit took the heap lock");
            }
            Source::Heap if after.refills_from_heap > before.refills_from_heap => {
                let cached = |stats: &Stats| stats.orders[asked.order() as usize].cached_objects;
                let brought = 1 + cached(&after) - cached(before);
                self.caches.refilled(slot, asked.order(), brought as usize);
            }
            Source::Heap => self.heap_was_asked(slot, asked, refused, locks, got.err()),
        }
    }

    fn alloc_bulk(&mut self, worker: usize, size: usize, n_order: u32, grow: bool) {
        let (refused, locks) = (self.source.refused(), self.arena.stats().heap_locks);
        let mut out = [std::ptr::null_mut(); 128];
        let handle = &self.workers[worker];
        let result = if grow {
            handle.alloc_bulk(size, n_order, &mut out)
        } else {
            handle.alloc_bulk_nogrow(size, n_order, &mut out)
        };
        if let Some(error) = Self::impossible(size) {
            assert_eq!(result, Err(error));
            return;
        }
        let bytes = block_bytes(size) << n_order;
        if bytes > MAX_BLOCK_BYTES as usize {
            assert_eq!(result, Err(AllocError::TooLarge));
            return;
        }
        let slot = self.workers[worker].slot();
        let asked = Asked {
            bytes,
            alignment: bytes,
            by_cache: false,
            grow,
            gather: true,
            and_free: false,
        };
        let locks = self.arena.stats().heap_locks - locks;
        self.heap_was_asked(slot, &asked, refused, locks, result.err());
        let count = if result.is_ok() { 1 << n_order } else { 0 };
        for (index, &pointer) in out.iter().enumerate() {
            assert_eq!(pointer.is_null(), index >= count);
            if let Some(pointer) = NonNull::new(pointer) {
                let distance = pointer.as_ptr() as usize - out[0] as usize;
                assert_eq!(distance, index * block_bytes(size));
                self.adopt(pointer, size, block_bytes(size));
            }
        }
    }

    /// A block was asked of the heap, by `locks` takings of its lock, after `refused` refusals of
    /// growth so far.
    fn heap_was_asked(
        &mut self,
        slot: u32,
        asked: &Asked,
        refused: u32,
        locks: u64,
        error: Option<AllocError>,
    ) {
        // Without gathering, the lock is taken once for a block, once more for a refill before it,
        // and once for a free; gathering takes it at least twice more, besides the refill.
        let is_cached = asked.by_cache && self.caches.is_cached(asked.order());
        let gathered = locks >= 3 + u64::from(is_cached);
        if gathered {
            assert!(asked.gather, "gathered in constant time");
            self.caches.flush(slot);
            self.caches.drain_transfers();
        }
        let chunks = asked.bytes.div_ceil(CHUNK) as u32;
        if let Some(error) = error {
            assert_eq!(error, AllocError::OutOfMemory);
            let huge = asked.bytes >= CHUNK;
            if asked.grow {
                assert!(
                    gathered && self.was_refused(refused, chunks),
                    "gave up early"
                );
            } else {
                assert!(huge || gathered == asked.gather, "gave up early");
            }
            let wanted = order_of(asked.alignment.max(asked.bytes) as u32);
            let large = free_blocks(self.source.memory(), self.arena)
                .find(|&(_, free)| !huge && free >= wanted);
            assert_eq!(large, None, "out of memory with a block free");
        }
    }

    fn reserve(&mut self, worker: usize, size: usize, count: usize) {
        let (before, refused) = (self.arena.stats(), self.source.refused());
        let result = self.workers[worker].reserve(size, count);
        let bytes = block_bytes(size.clamp(1, 0xfff0_0000));
        let order = order_of(bytes.min(CHUNK) as u32);
        let expected = match size {
            0 => Some(AllocError::ZeroSize),
            _ if bytes >= CHUNK => Some(AllocError::TooLarge),
            _ if !self.caches.is_cached(order) => Some(AllocError::NotCached),
            _ if count > self.config.capacity as usize => Some(AllocError::NotCached),
            _ => None,
        };
        let after = self.arena.stats();
        if let Some(error) = expected {
            assert_eq!(result, Err(error));
            assert_eq!(after, before);
            return;
        }
        let slot = self.workers[worker].slot();
        let added = (after.cached_bytes - before.cached_bytes) as usize / bytes;
        self.caches.reserved(slot, order, added);
        let fill = self.caches.fill(slot, order);
        match result {
            Ok(()) => assert!(fill >= count && (added == 0 || fill == count)),
            Err(error) => {
                assert_eq!(error, AllocError::OutOfMemory);
                assert!(
                    fill < count && self.was_refused(refused, 1),
                    "gave up early"
                );
            }
        }
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

    fn free(&mut self, worker: usize, object: usize, nowait: bool) {
        let Some(address) = self.choose(object) else {
            return;
        };
        let (pointer, order) = self.retire(address);
        let handle = &self.workers[worker];
        let freed = if nowait {
            handle.free_nowait(pointer)
        } else {
            handle.free(pointer)
        };
        assert_eq!(freed, Ok(()));
        self.caches.free(handle.slot(), order, address);
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

    fn realloc(&mut self, worker: usize, object: usize, size: usize) {
        let Some(address) = self.choose(object) else {
            return;
        };
        let mut live = self
            .objects
            .remove(&address)
            .expect("chosen among the live");
        let (from, to) = (live.bytes, block_bytes(size.clamp(1, 0xfff0_0000)));
        let (before, refused) = (self.arena.stats(), self.source.refused());
        let resize = self.resize_of(address, from, to);
        self.stamps += 1;
        let result = live
            .object
            .realloc(&self.workers[worker], size, self.stamps);
        let after = self.arena.stats();
        if let Some(error) = Self::impossible(size) {
            assert_eq!(result, Err(ReallocError::Size(error)));
            assert_eq!(after, before);
            self.objects.insert(address, live);
            return;
        }
        let now = self.address(live.object.pointer());
        let locks = after.heap_locks - before.heap_locks - u64::from(resize.lock);
        if resize.stays {
            assert_eq!((result, now, locks), (Ok(()), address, 0), "did not stay");
            self.live.remove(address as usize);
            self.live.add(address as usize, to);
            self.objects.insert(address, Live { bytes: to, ..live });
            return;
        }
        // It moves: an allocation, and a free if that succeeded.
        let asked = Asked {
            bytes: to,
            alignment: to.min(CHUNK),
            by_cache: to < CHUNK,
            grow: true,
            gather: true,
            and_free: true,
        };
        let got = match result {
            Ok(()) => Ok(now),
            Err(ReallocError::Size(error)) => Err(error),
            Err(error) => panic!("{error}"),
        };
        let slot = self.workers[worker].slot();
        self.allocated(worker, &asked, &before, refused, locks, got);
        if got.is_ok() {
            assert_ne!(now, address);
            self.live.remove(address as usize);
            self.freed.push(address);
            self.caches.free(slot, live.order(), address);
            self.live.add(now as usize, to);
            self.objects.insert(now, Live { bytes: to, ..live });
        } else {
            self.objects.insert(address, live);
        }
    }

    /// What must come of resizing the block at `address` from one size of block to another.
    fn resize_of(&self, address: u32, from: usize, to: usize) -> Resize {
        match (from < CHUNK, to < CHUNK) {
            (true, true) if to <= from => Resize {
                stays: true,
                lock: to < from,
            },
            (true, true) => {
                let is_free = |order: u32| {
                    let buddy = block_at(self.source.memory(), address + (16 << order));
                    buddy.0.is_free() && buddy.1 == order
                };
                let mut orders = order_of(from as u32)..order_of(to as u32);
                let lower = (address as usize).is_multiple_of(to);
                Resize {
                    lock: lower && is_free(orders.start),
                    stays: lower && orders.all(is_free),
                }
            }
            (false, false) => Resize {
                stays: to <= from,
                lock: true,
            },
            _ => Resize {
                stays: false,
                lock: false,
            },
        }
    }

    fn free_bad(&mut self, worker: usize, object: usize, bad: Bad) {
        let memory = self.source.memory();
        let live = self.choose(object);
        let offset_of = |address: u32, share: u8| {
            let block = self.objects[&address].bytes;
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
        let pointer = memory.pointer(address);
        let owned = self.workers[worker].owns(pointer);
        assert!(owned || self.live.around(address as usize).is_none());
        let error = self.workers[worker].free(pointer).unwrap_err();
        assert!(
            expected.contains(&error),
            "{error:?} at {address:#x}, not {expected:?}"
        );
        assert!(owned || [FreeError::Foreign, FreeError::NotAllocated].contains(&error));
        assert_eq!(self.workers[worker].usable_size(pointer), Err(error));
        let resized = self.workers[worker].realloc(pointer, 1 + object);
        assert_eq!(resized, Err(ReallocError::Pointer(error)));
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
