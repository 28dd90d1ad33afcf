//! Turns a memory that grows by pages into whole aligned chunks.

use super::ChunkRun;
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

    /// `count` chunks in a row that are now the caller's, for the arena whose first chunk is at
    /// `claimant`.
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    pub(crate) fn acquire(&self, count: u32, claimant: u32) -> Option<ChunkRun> {
        let mut attempts = 0..;
        loop {
            if let Some(run) = self.take(count, claimant) {
                return Some(run);
            }
            // The first time, ask for just what makes the pages at the memory's end a run that
            // is long enough. If somebody else grows the memory in between, the pages land
            // elsewhere, are kept all the same, and from then on the request is large enough to
            // hold a whole run wherever it lands. Where that much is not left, just enough may
            // still be.
            let end = self.pages.size();
            let exact = missing(end, self.map.pages_below(end), count)?;
            let ample = missing(end, 0, count)?;
            let wanted = if attempts.next() == Some(0) {
                exact
            } else {
                ample
            };
            if !self.add(wanted) && !self.add(exact) {
                // The memory is at its maximum, but somebody may have given chunks back.
                return self.take(count, claimant);
            }
        }
    }

    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    fn take(&self, count: u32, claimant: u32) -> Option<ChunkRun> {
        let claimant = chunk_index(claimant) as u32;
        let (first, zeroed) = self.map.take_chunks(count, claimant)?;
        Some(ChunkRun {
            address: first * CHUNK_BYTES,
            zeroed,
        })
    }

    /// Grows by `count` pages and keeps them; `false` beyond the maximum.
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    fn add(&self, count: u32) -> bool {
        self.pages
            .grow(count)
            .map(|first| self.map.give(first, count))
            .is_some()
    }

    /// Takes `count` chunks back, the first of which is at `address`.
    pub(crate) fn release(&self, address: u32, count: u32) {
        self.map.give_used(chunk_index(address) as u32, count);
    }

    /// As [`ChunkSource::reclaim`](super::ChunkSource::reclaim).
    pub(crate) fn reclaim(&self, claimant: u32, uses: impl Fn(u32) -> bool) -> u32 {
        let claimant = chunk_index(claimant) as u32;
        self.map
            .reclaim(claimant, |chunk| uses(chunk * CHUNK_BYTES))
    }
}

/// The pages that a memory of `end` pages lacks for a run of `count` chunks at its end, of which
/// the last `ours` pages may be part; `None` for more than any memory has.
fn missing(end: u32, ours: u32, count: u32) -> Option<u32> {
    // Chunk 0 is never handed out.
    let first = (end - ours).max(1).next_multiple_of(CHUNK_PAGES);
    (first + count.checked_mul(CHUNK_PAGES)?).checked_sub(end)
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

    fn address(source: &PageSource<Counter>, count: u32) -> Option<u32> {
        source.acquire(count, 0).map(|run| run.address)
    }

    #[test]
    fn a_run_grows_by_what_is_missing() {
        let source = source(5, 96, 0, 0);
        assert_eq!(address(&source, 1), Some(0x10_0000));
        source.release(0x10_0000, 1);
        assert_eq!(address(&source, 2), Some(0x10_0000));
        assert_eq!(
            source.pages.size(),
            48,
            "the chunk that was there is part of the run"
        );
        assert_eq!(address(&source, 4), None);
        assert_eq!(source.pages.size(), 48, "a refused run grows nothing");
        assert_eq!(address(&source, 3), Some(0x30_0000));
        assert_eq!(source.pages.size(), 96);
        source.release(0x10_0000, 2);
        assert!(!source.acquire(2, 0).unwrap().zeroed);
    }

    #[test]
    fn grows_by_one_chunk_once_aligned() {
        let source = source(5, 64, 0, 0);
        assert_eq!(address(&source, 1), Some(0x10_0000));
        assert_eq!(source.pages.size(), 32);
        assert_eq!(address(&source, 1), Some(0x20_0000));
        assert_eq!(address(&source, 1), Some(0x30_0000));
        assert_eq!(source.pages.size(), 64);
        assert_eq!(address(&source, 1), None);
        source.release(0x20_0000, 1);
        assert_eq!(address(&source, 1), Some(0x20_0000));
    }

    #[test]
    fn foreign_growth_costs_pages_but_overlaps_nothing() {
        let source = source(18, 256, 3, u32::MAX);
        let mut chunks = [0; 4];
        for chunk in &mut chunks {
            *chunk = address(&source, 1).unwrap();
        }
        assert!(chunks.iter().all(|chunk| chunk % CHUNK_BYTES == 0));
        assert!(chunks.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn the_last_chunk_is_completed_where_no_more_is_left() {
        // Somebody comes before the second growth, and then two chunks are left, cut askew.
        let source = source(0, 64, 3, 0);
        assert_eq!(address(&source, 1), Some(0x10_0000));
        source.pages.intrusions.store(1, Ordering::Relaxed);
        assert_eq!(address(&source, 1), Some(0x30_0000));
        assert_eq!(address(&source, 1), None);
    }
}
