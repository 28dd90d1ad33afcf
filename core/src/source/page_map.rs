//! Which pages of a memory belong to the source and are used by no arena: one bit a page.
//!
//! A chunk is sixteen pages, so each chunk's pages are the bits of one 16-bit word, and a word
//! of all ones is a chunk that can be taken. Growth adds pages one at a time to the words they
//! fall into: it does not matter whether a growth was aligned, whether somebody else grew the
//! memory in between, or which growth completes a chunk, and no page is ever lost.
//!
//! **Ordering.** Taking a chunk is an exchange of its whole word, so at most one caller gets
//! it. It is an acquire and giving pages a release, so what the last user wrote into a chunk
//! (its zeroed block map) is visible to the next.

use crate::sync::{AtomicU16, Ordering};

/// Pages of 64 KiB in a chunk of 1 MiB.
pub(crate) const CHUNK_PAGES: u32 = 16;
const WHOLE: u16 = u16::MAX;

/// The bits of a memory of at most `CHUNKS` chunks.
pub(crate) struct PageMap<const CHUNKS: usize> {
    words: [AtomicU16; CHUNKS],
}

impl<const CHUNKS: usize> PageMap<CHUNKS> {
    /// No page at all.
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        Self {
            words: [const { AtomicU16::new(0) }; CHUNKS],
        }
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self {
            words: core::array::from_fn(|_| AtomicU16::new(0)),
        }
    }

    /// Adds the pages `first .. first + count`, which were in no word before.
    pub(crate) fn give(&self, first: u32, count: u32) {
        let mut page = first;
        let end = first + count;
        while page < end {
            let in_chunk = page % CHUNK_PAGES;
            let run = (CHUNK_PAGES - in_chunk).min(end - page);
            let bits = (((1u32 << run) - 1) << in_chunk) as u16;
            self.words[(page / CHUNK_PAGES) as usize].fetch_or(bits, Ordering::Release);
            page += run;
        }
    }

    /// Takes a whole chunk, the lowest there is, and returns its number.
    pub(crate) fn take_chunk(&self) -> Option<u32> {
        // Chunk 0 starts at address 0, which stands for "nothing" everywhere: never handed out.
        (1..CHUNKS).find_map(|chunk| {
            let word = &self.words[chunk];
            (word.load(Ordering::Relaxed) == WHOLE
                && word
                    .compare_exchange(WHOLE, 0, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok())
            .then_some(chunk as u32)
        })
    }

    /// Whether every page of the chunk that holds `page`, from the chunk's start to `page`, is
    /// here: then growing from `page` on can complete that chunk.
    pub(crate) fn reaches_back(&self, page: u32) -> bool {
        let below = ((1u32 << (page % CHUNK_PAGES)) - 1) as u16;
        self.words
            .get((page / CHUNK_PAGES) as usize)
            .is_some_and(|word| word.load(Ordering::Relaxed) & below == below)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn unaligned_growths_add_up_to_chunks() {
        let map = PageMap::<8>::new();
        map.give(20, 7);
        assert_eq!(map.take_chunk(), None);
        map.give(27, 30);
        assert_eq!(map.take_chunk(), Some(2));
        assert_eq!(map.take_chunk(), None);
        map.give(16, 4);
        assert_eq!(map.take_chunk(), Some(1));
        assert!(map.reaches_back(57));
        assert!(!map.reaches_back(63));
        assert_eq!(map.take_chunk(), None);
    }

    #[test]
    fn chunk_zero_is_never_handed_out() {
        let map = PageMap::<2>::new();
        map.give(0, 32);
        assert_eq!(map.take_chunk(), Some(1));
        assert_eq!(map.take_chunk(), None);
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::sync::PlainU32;
    use loom::sync::Arc;

    /// Two growths complete one chunk, and two takers race for it: one gets it, and sees what
    /// was written before its pages were given.
    #[test]
    fn a_completed_chunk_goes_to_one_taker() {
        loom::model(|| {
            let shared = Arc::new((PageMap::<2>::new(), PlainU32::new(0), PlainU32::new(0)));
            let other = shared.clone();
            let grower = loom::thread::spawn(move || {
                other.1.set(1);
                other.0.give(16, 8);
                other.0.take_chunk()
            });
            shared.2.set(1);
            shared.0.give(24, 8);
            let mine = shared.0.take_chunk();
            if mine.is_some() {
                assert_eq!((shared.1.get(), shared.2.get()), (1, 1));
            }
            let theirs = grower.join().unwrap();
            assert_eq!(
                [mine, theirs].iter().flatten().count(),
                1,
                "the chunk is lost or given twice"
            );
        });
    }
}
