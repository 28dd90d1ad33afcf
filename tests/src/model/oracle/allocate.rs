//! Allocations: where each must come from, and when it may be refused.

use super::super::How;
use super::super::caches::Source;
use super::{CHUNK, HUGE, Oracle};
use crate::{block_bytes_of, free_blocks, whole_bytes};
use std::ops::Range;
use std::ptr::NonNull;
use warena::{AllocError, ChunkSource, MAX_BLOCK_BYTES, Stats, order_of};

/// An allocation as the heap sees it.
pub(super) struct Asked {
    /// Bytes of the block.
    pub(super) bytes: usize,
    pub(super) alignment: usize,
    /// Whether it looks into the caches first.
    pub(super) by_cache: bool,
    /// Whether the arena may grow for it.
    pub(super) grow: bool,
    /// Whether it may have the caches emptied before it gives up.
    pub(super) gather: bool,
    /// Whether what is counted includes one free.
    pub(super) and_free: bool,
    /// Where it has itself freed what it did not need, having got nothing.
    pub(super) gave_back: Range<u32>,
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

impl Oracle<'_> {
    /// What an allocation must fail with whatever the heap holds.
    pub(super) fn impossible(size: usize) -> Option<AllocError> {
        match size {
            0 => Some(AllocError::ZeroSize),
            _ if size > 0xfff0_0000 => Some(AllocError::TooLarge),
            _ => None,
        }
    }

    pub(super) fn alloc(&mut self, worker: usize, size: usize, how: How) {
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
        let mut bytes = block_bytes_of(&self.config, size);
        let mut alignment = whole_bytes(size).min(CHUNK);
        if let How::Aligned(exponent) = how {
            alignment = alignment.max(1 << exponent);
            bytes = bytes.max(if alignment == CHUNK { CHUNK } else { 0 });
        }
        if let Ok(pointer) = result {
            assert_eq!(pointer.as_ptr() as usize % alignment, 0);
            let usable = self.workers[worker].usable_size(pointer.as_ptr());
            let known = if self.config.checking { size } else { bytes };
            assert_eq!(usable, Ok(known));
            if self.config.checking {
                let range = self.arena.check(pointer.as_ptr(), size);
                assert_eq!(range, Ok(()), "not known to be allocated");
            }
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
            gave_back: 0..0,
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
    pub(super) fn allocated(
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

    pub(super) fn alloc_bulk(&mut self, worker: usize, size: usize, n_order: u32, grow: bool) {
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
        let bytes = whole_bytes(size) << n_order;
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
            gave_back: 0..0,
        };
        let locks = self.arena.stats().heap_locks - locks;
        self.heap_was_asked(slot, &asked, refused, locks, result.err());
        let count = if result.is_ok() { 1 << n_order } else { 0 };
        for (index, &pointer) in out.iter().enumerate() {
            assert_eq!(pointer.is_null(), index >= count);
            if let Some(pointer) = NonNull::new(pointer) {
                let distance = pointer.as_ptr() as usize - out[0] as usize;
                assert_eq!(distance, index * whole_bytes(size));
                self.adopt(pointer, size, whole_bytes(size));
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
                .find(|(start, free)| !huge && *free >= wanted && !asked.gave_back.contains(start));
            assert_eq!(large, None, "out of memory with a block free");
        }
    }

    pub(super) fn reserve(&mut self, worker: usize, size: usize, count: usize) {
        let (before, refused) = (self.arena.stats(), self.source.refused());
        let result = self.workers[worker].reserve(size, count);
        let bytes = whole_bytes(size.clamp(1, 0xfff0_0000));
        let order = order_of(bytes.min(CHUNK) as u32);
        let expected = match size {
            0 => Some(AllocError::ZeroSize),
            _ if bytes >= CHUNK => Some(AllocError::TooLarge),
            _ if !self.caches.is_cached(order) => Some(AllocError::NotCached),
            _ if !self.caches.may_hold(order, count) => Some(AllocError::NotCached),
            _ => None,
        };
        let after = self.arena.stats();
        if let Some(error) = expected {
            assert_eq!(result, Err(error));
            assert_eq!(after, before);
            return;
        }
        let slot = self.workers[worker].slot();
        self.caches.reserve(slot, order, count);
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
}
