//! Which pages of a memory belong to the source and are used by no arena: one bit a page. And for
//! which arena each chunk was taken.
//!
//! | bits of a chunk's word | meaning |
//! | --- | --- |
//! | 0–15 | the chunk's sixteen pages: 1 is here, to be taken |
//! | 16–31 | number of the first chunk of the arena that the chunk was taken for; 0: not taken |
//!
//! A word whose pages are all here is a chunk that can be taken. Growth adds pages one at a time to the words they
//! fall into: it does not matter whether a growth was aligned, whether somebody else grew the
//! memory in between, or which growth completes a chunk, and no page is ever lost. A run is
//! several such words in a row, so chunks that were given back apart are found together.
//!
//! **Claimants.** The exchange that takes a chunk writes for whom. So a chunk that an agent took and
//! could not tell its arena of, because it ended, is found again: it has that arena for a claimant
//! and is not in its table. The same holds for one that it was giving back.
//!
//! **Ordering.** Taking a chunk is an exchange of its whole word, so at most one caller gets
//! it. It is an acquire and giving pages a release, so whatever the last user left in a chunk,
//! and the note that it is used, are visible to the next.

use crate::order::MAX_CHUNKS;
use crate::sync::{AtomicU32, Ordering};

/// Pages of 64 KiB in a chunk of 1 MiB.
pub(crate) const CHUNK_PAGES: u32 = 16;
/// The word of a chunk that is here.
const WHOLE: u32 = u16::MAX as u32;
const CLAIMANT_SHIFT: u32 = 16;

/// The bits of a memory of at most `CHUNKS` chunks.
pub(crate) struct PageMap<const CHUNKS: usize> {
    words: [AtomicU32; CHUNKS],
    /// Bit c % 32 of word c / 32: chunk c was used before, so it may hold anything.
    used: [AtomicU32; USED_WORDS],
}

const USED_WORDS: usize = MAX_CHUNKS / u32::BITS as usize;

impl<const CHUNKS: usize> PageMap<CHUNKS> {
    /// No page at all.
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        Self {
            words: [const { AtomicU32::new(0) }; CHUNKS],
            used: [const { AtomicU32::new(0) }; USED_WORDS],
        }
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self {
            words: core::array::from_fn(|_| AtomicU32::new(0)),
            used: core::array::from_fn(|_| AtomicU32::new(0)),
        }
    }

    /// Adds the zeroed pages `first .. first + count`, which were in no word before.
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    pub(crate) fn give(&self, first: u32, count: u32) {
        let mut page = first;
        let end = first + count;
        while page < end {
            let in_chunk = page % CHUNK_PAGES;
            let run = (CHUNK_PAGES - in_chunk).min(end - page);
            let bits = ((1u32 << run) - 1) << in_chunk;
            self.word(page / CHUNK_PAGES)
                .fetch_or(bits, Ordering::Release);
            page += run;
        }
    }

    /// Adds the chunks `first .. first + count`, with whatever is in them.
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    pub(crate) fn give_used(&self, first: u32, count: u32) {
        for chunk in first..first + count {
            self.used_word(chunk)
                .fetch_or(1 << (chunk % u32::BITS), Ordering::Relaxed);
            self.unclaim(chunk);
        }
    }

    /// Gives a taken chunk back.
    fn unclaim(&self, chunk: u32) {
        self.word(chunk).store(WHOLE, Ordering::Release);
    }

    /// Gives back every chunk that was taken for `claimant` and that `uses` does not name; how many.
    /// Nobody takes or gives back for that claimant meanwhile.
    pub(crate) fn reclaim(&self, claimant: u32, uses: impl Fn(u32) -> bool) -> u32 {
        let taken =
            |chunk: u32| self.word(chunk).load(Ordering::Acquire) >> CLAIMANT_SHIFT == claimant;
        let lost = (1..CHUNKS as u32).filter(|&chunk| taken(chunk) && !uses(chunk));
        lost.inspect(|&chunk| self.give_used(chunk, 1)).count() as u32
    }

    /// Takes `count` whole chunks in a row for `claimant`, the number of an arena's first chunk, or
    /// 0 if they are that themselves: the lowest there are. Returns the number of the first, and
    /// whether none of them was used before.
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    pub(crate) fn take_chunks(&self, count: u32, claimant: u32) -> Option<(u32, bool)> {
        // Chunk 0 starts at address 0, which stands for "nothing" everywhere: never handed out.
        let (mut first, mut length) = (1, 0);
        for chunk in 1..CHUNKS as u32 {
            if self.word(chunk).load(Ordering::Relaxed) != WHOLE {
                (first, length) = (chunk + 1, 0);
                continue;
            }
            length += 1;
            if length < count {
                continue;
            }
            match self.claim(first, count, claimant) {
                Ok(()) => {
                    let zeroed = (first..first + count).all(|chunk| !self.was_used(chunk));
                    return Some((first, zeroed));
                }
                // Somebody took one: go on behind it.
                Err(taken) => (first, length) = (taken + 1, chunk - taken),
            }
        }
        None
    }

    /// Takes exactly these chunks, or none and says which was gone.
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    fn claim(&self, first: u32, count: u32, claimant: u32) -> Result<(), u32> {
        let claimant = if claimant == 0 { first } else { claimant };
        for chunk in first..first + count {
            let word = self.word(chunk);
            if word
                .compare_exchange(
                    WHOLE,
                    claimant << CLAIMANT_SHIFT,
                    Ordering::Acquire,
                    Ordering::Relaxed,
                )
                .is_err()
            {
                (first..chunk).for_each(|chunk| self.unclaim(chunk));
                return Err(chunk);
            }
        }
        Ok(())
    }

    /// The word of a chunk. No chunk has a number that is beyond them, and the remainder leaves the code
    /// for that case out, which would bring the formatting of a message with it.
    fn word(&self, chunk: u32) -> &AtomicU32 {
        &self.words[chunk as usize % CHUNKS]
    }

    fn was_used(&self, chunk: u32) -> bool {
        self.used_word(chunk).load(Ordering::Relaxed) >> (chunk % u32::BITS) & 1 != 0
    }

    fn used_word(&self, chunk: u32) -> &AtomicU32 {
        &self.used[(chunk / u32::BITS) as usize % USED_WORDS]
    }

    /// How many pages right below `page` are here: what a growth from `page` on adds to.
    pub(crate) fn pages_below(&self, page: u32) -> u32 {
        let mut below = page;
        while below > 0 && self.has(below - 1) {
            below -= 1;
        }
        page - below
    }

    fn has(&self, page: u32) -> bool {
        let word = self.word(page / CHUNK_PAGES);
        word.load(Ordering::Relaxed) >> (page % CHUNK_PAGES) & 1 != 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn unaligned_growths_add_up_to_chunks() {
        let map = PageMap::<8>::new();
        map.give(20, 7);
        assert_eq!(map.take_chunks(1, 0), None);
        map.give(27, 30);
        assert_eq!(map.take_chunks(1, 0), Some((2, true)));
        assert_eq!(map.take_chunks(1, 0), None);
        map.give(16, 4);
        assert_eq!(map.take_chunks(1, 0), Some((1, true)));
        assert_eq!(map.pages_below(57), 9);
        assert_eq!(map.pages_below(63), 0);
        assert_eq!(map.take_chunks(1, 0), None);
    }

    #[test]
    fn chunks_given_back_apart_are_found_together() {
        let map = PageMap::<8>::new();
        map.give(16, 6 * 16);
        assert_eq!(map.take_chunks(3, 0), Some((1, true)));
        assert_eq!(map.take_chunks(3, 0), Some((4, true)));
        assert_eq!(map.take_chunks(1, 0), None);
        map.give_used(3, 1);
        map.give_used(5, 1);
        assert_eq!(map.take_chunks(2, 0), None);
        map.give_used(4, 1);
        assert_eq!(map.take_chunks(3, 0), Some((3, false)));
    }

    #[test]
    fn chunks_that_their_arena_does_not_know_are_reclaimed() {
        let map = PageMap::<8>::new();
        map.give(16, 7 * 16);
        assert_eq!(map.take_chunks(1, 0), Some((1, true)), "an arena's first");
        assert_eq!(map.take_chunks(1, 0), Some((2, true)), "another's");
        assert_eq!(map.take_chunks(3, 1), Some((3, true)));
        assert_eq!(map.take_chunks(1, 2), Some((6, true)));
        assert_eq!(map.reclaim(1, |chunk| [1, 4].contains(&chunk)), 2);
        assert_eq!(map.reclaim(1, |chunk| [1, 4].contains(&chunk)), 0);
        assert_eq!(map.take_chunks(1, 2), Some((3, false)));
        assert_eq!(map.take_chunks(1, 2), Some((5, false)));
    }

    #[test]
    fn chunk_zero_is_never_handed_out() {
        let map = PageMap::<2>::new();
        map.give(0, 32);
        assert_eq!(map.take_chunks(1, 0), Some((1, true)));
        assert_eq!(map.take_chunks(1, 0), None);
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
                other.0.take_chunks(1, 0)
            });
            shared.2.set(1);
            shared.0.give(24, 8);
            let mine = shared.0.take_chunks(1, 0);
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

    /// Two takers race for a run of two and for its second chunk: whoever loses leaves nothing
    /// taken.
    #[test]
    fn a_run_is_taken_whole_or_not_at_all() {
        loom::model(|| {
            let map = Arc::new(PageMap::<3>::new());
            map.give(16, 32);
            let other = map.clone();
            let taker = loom::thread::spawn(move || other.claim(2, 1, 0).is_ok());
            let run = map.claim(1, 2, 0).is_ok();
            let single = taker.join().unwrap();
            assert!(run != single, "both or none got the second chunk");
            assert_eq!(
                map.claim(1, 1, 0).is_ok(),
                !run,
                "the first chunk is lost or taken twice"
            );
        });
    }
}
