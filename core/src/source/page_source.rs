//! Turns a memory that grows by pages into whole aligned chunks.

use super::page_map::{CHUNK_PAGES, PageMap};
use crate::order::{CHUNK_BYTES, MAX_CHUNKS, chunk_index};

/// A memory that grows at its end by pages of 64 KiB, as `memory.grow` does.
pub(crate) trait Pages {
    /// Pages now.
    fn size(&self) -> u32;

    /// Adds `count` zeroed pages and returns the size before, or `None` beyond the maximum. Two
    /// callers at once each get their own pages.
    fn grow(&self, count: u32) -> Option<u32>;
}

/// Chunks out of `Pages`: those given back first, then by growth.
pub(crate) struct PageSource<P> {
    pages: P,
    map: PageMap<MAX_CHUNKS>,
}

impl<P: Pages> PageSource<P> {
    #[cfg(not(loom))]
    pub(crate) const fn new(pages: P) -> Self {
        Self {
            pages,
            map: PageMap::new(),
        }
    }

    #[cfg(loom)]
    pub(crate) fn new(pages: P) -> Self {
        Self {
            pages,
            map: PageMap::new(),
        }
    }

    /// The address of a chunk that is now the caller's.
    pub(crate) fn acquire(&self) -> Option<u32> {
        let mut attempts = 0..;
        loop {
            if let Some(chunk) = self.map.take_chunk() {
                return Some(chunk * CHUNK_BYTES);
            }
            // The first time, ask for what completes the chunk at the memory's end, if all of
            // its beginning is ours. If somebody else grows the memory in between, the pages
            // land elsewhere, are kept all the same, and from then on the request is large
            // enough to hold a whole chunk wherever it lands. Where that much is not left, what
            // completes the last chunk may still be.
            let end = self.pages.size();
            let rest = CHUNK_PAGES - end % CHUNK_PAGES;
            let completes = end >= CHUNK_PAGES && self.map.reaches_back(end);
            let count = if completes && attempts.next() == Some(0) {
                rest
            } else {
                rest + CHUNK_PAGES
            };
            let added = self.add(count) || (completes && self.add(rest));
            if !added {
                // The memory is at its maximum, but somebody may have given a chunk back.
                return self.map.take_chunk().map(|chunk| chunk * CHUNK_BYTES);
            }
        }
    }

    /// Grows by `count` pages and keeps them; `false` beyond the maximum.
    fn add(&self, count: u32) -> bool {
        self.pages
            .grow(count)
            .map(|first| self.map.give(first, count))
            .is_some()
    }

    /// Takes the chunk at `address` back.
    pub(crate) fn release(&self, address: u32) {
        self.map
            .give(chunk_index(address) as u32 * CHUNK_PAGES, CHUNK_PAGES);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicU32, Ordering};

    struct Counter {
        size: AtomicU32,
        maximum: u32,
        /// Pages that somebody else adds before each of our growths.
        foreign: u32,
        /// How many more of our growths somebody else comes before.
        intrusions: AtomicU32,
    }

    impl Pages for Counter {
        fn size(&self) -> u32 {
            self.size.load(Ordering::Relaxed)
        }

        fn grow(&self, count: u32) -> Option<u32> {
            let intrusions = self.intrusions.load(Ordering::Relaxed);
            self.intrusions
                .store(intrusions.saturating_sub(1), Ordering::Relaxed);
            let foreign = if intrusions > 0 { self.foreign } else { 0 };
            let size = self.size.load(Ordering::Relaxed) + foreign;
            (size + count <= self.maximum).then(|| {
                self.size.store(size + count, Ordering::Relaxed);
                size
            })
        }
    }

    fn source(size: u32, maximum: u32, foreign: u32, intrusions: u32) -> PageSource<Counter> {
        PageSource::new(Counter {
            size: AtomicU32::new(size),
            maximum,
            foreign,
            intrusions: AtomicU32::new(intrusions),
        })
    }

    #[test]
    fn grows_by_one_chunk_once_aligned() {
        let source = source(5, 64, 0, 0);
        assert_eq!(source.acquire(), Some(0x10_0000));
        assert_eq!(source.pages.size(), 32);
        assert_eq!(source.acquire(), Some(0x20_0000));
        assert_eq!(source.acquire(), Some(0x30_0000));
        assert_eq!(source.pages.size(), 64);
        assert_eq!(source.acquire(), None);
        source.release(0x20_0000);
        assert_eq!(source.acquire(), Some(0x20_0000));
    }

    #[test]
    fn foreign_growth_costs_pages_but_overlaps_nothing() {
        let source = source(18, 256, 3, u32::MAX);
        let mut chunks = [0; 4];
        for chunk in &mut chunks {
            *chunk = source.acquire().unwrap();
        }
        assert!(chunks.iter().all(|chunk| chunk % CHUNK_BYTES == 0));
        assert!(chunks.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn the_last_chunk_is_completed_where_no_more_is_left() {
        // Somebody comes before the second growth, and then two chunks are left, cut askew.
        let source = source(0, 64, 3, 0);
        assert_eq!(source.acquire(), Some(0x10_0000));
        source.pages.intrusions.store(1, Ordering::Relaxed);
        assert_eq!(source.acquire(), Some(0x30_0000));
        assert_eq!(source.acquire(), None);
    }
}
