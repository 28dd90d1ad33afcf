//! A transfer cache: the spare batches of one order, shared by all workers.
//!
//! A full cache leaves a batch here and an empty one takes a batch from here, so that objects
//! which one worker frees and another allocates need not pass through the central heap. It is a
//! stack in an array under a lock of its own.
//!
//! **Ordering.** The count is peeked at before the lock is taken, so that a cache which cannot
//! help costs one load; a stale count only sends the caller to the heap, or to a lock under
//! which the count is read again. The array is touched by the lock's holder alone, and the lock
//! orders one holder's stores before the next one's loads.
//!
//! **If the holder ends**, no object is lost: a batch is in the place that it goes to before it leaves
//! the one that it comes from, and both happen under the lock. So what may be in two places is in
//! this cache, whose lock is the dead one's, and in the dead one's stack. Whoever reaps it takes the
//! lock over and leaves such objects here.

use crate::agent::Agent;
use crate::error::Busy;
use crate::lock::{Lock, Patience};
use crate::memory::Memory;
use crate::sync::PlainU32;

/// The cache of one order. Zeroed memory is one that holds nothing and has room for nothing.
#[repr(C, align(64))]
pub(crate) struct Transfer {
    lock: Lock,
    /// Objects here.
    pub(crate) count: PlainU32,
    /// Room for so many.
    pub(crate) capacity: PlainU32,
    /// Address of the array.
    array: PlainU32,
}

impl Transfer {
    pub(crate) fn begin(&self, array: u32, capacity: u32) {
        self.array.set(array);
        self.capacity.set(capacity);
    }

    /// The array, of which the first `count` entries are in use.
    pub(crate) fn entries<'a>(&self, memory: Memory) -> &'a [PlainU32] {
        // SAFETY: the array was made with the arena, for `capacity` entries, and lives as long.
        unsafe { memory.slice(self.array.get(), self.capacity.get()) }
    }

    /// Moves all of `batch` in, marking each object, and has `let_go` take it out of where it was;
    /// `false`, and nothing moved, when there is no room or the lock is busy.
    pub(crate) fn put(
        &self,
        entries: &[PlainU32],
        batch: &[PlainU32],
        agent: Agent,
        mark: impl Fn(u32),
        let_go: impl FnOnce(),
    ) -> bool {
        let room = |count: u32| entries.len() - count as usize >= batch.len();
        if !room(self.count.get()) {
            return false;
        }
        let Ok(_guard) = self.lock.lock(agent, Patience::Soon) else {
            return false;
        };
        let count = self.count.get();
        if !room(count) {
            return false;
        }
        for (from, to) in batch.iter().zip(entries.iter().skip(count as usize)) {
            mark(from.get());
            to.set(from.get());
        }
        self.count.set(count + batch.len() as u32);
        let_go();
        true
    }

    /// Fills as much of `batch` as there are objects, marking each, and has `keep` count them where they
    /// are going; how many. None when the lock is busy.
    pub(crate) fn take(
        &self,
        entries: &[PlainU32],
        batch: &[PlainU32],
        agent: Agent,
        mark: impl Fn(u32),
        keep: impl FnOnce(u32),
    ) -> u32 {
        if self.count.get() == 0 {
            return 0;
        }
        let Ok(_guard) = self.lock.lock(agent, Patience::Soon) else {
            return 0;
        };
        let count = self.count.get();
        let taken = count.min(batch.len() as u32);
        let left = count - taken;
        for (to, from) in batch
            .iter()
            .zip(entries.iter().skip(left as usize))
            .take(taken as usize)
        {
            mark(from.get());
            to.set(from.get());
        }
        keep(taken);
        self.count.set(left);
        taken
    }

    /// Has `give` take up to `most` objects to the heap, whose lock the caller holds. Does not wait for the lock: its holder may have ended, and whoever reaps that one
    /// wants the heap's lock first. See [`wait_until_free`](Self::wait_until_free).
    pub(crate) fn give_up_to(
        &self,
        entries: &[PlainU32],
        most: u32,
        agent: Agent,
        mut give: impl FnMut(u32),
    ) -> Result<(), Busy> {
        let _guard = self.lock.lock(agent, Patience::Soon)?;
        for _ in 0..self.count.get().min(most) {
            let left = self.count.get() - 1;
            if let Some(entry) = entries.get(left as usize) {
                give(entry.get());
            }
            self.count.set(left);
        }
        Ok(())
    }

    /// Waits as `patience` allows for a moment at which nobody holds the lock: for calls that have
    /// nowhere else to go, and hold no lock themselves.
    pub(crate) fn wait_until_free(&self, agent: Agent, patience: Patience) -> Result<(), Busy> {
        self.lock.lock(agent, patience).map(drop)
    }

    /// Takes the lock over from `dead`, which has ended, if it held it, and puts the array in order:
    /// `is_here` says of each object whether it is still out of the heap, and marks it. Then `and`
    /// runs, before the lock is let go; whether there was anything to take over.
    pub(crate) fn recover(
        &self,
        memory: Memory,
        dead: Agent,
        heir: Agent,
        is_here: impl Fn(u32) -> bool,
        and: impl FnOnce(),
    ) -> bool {
        let Some(_guard) = self.lock.take_over(dead, heir) else {
            return false;
        };
        let entries = self.entries(memory);
        // Only the last object can have gone to the heap already.
        while let Some(left) = self.count.get().checked_sub(1) {
            if is_here(entries[left as usize].get()) {
                break;
            }
            self.count.set(left);
        }
        for entry in &entries[..self.count.get() as usize] {
            is_here(entry.get());
        }
        and();
        true
    }

    /// Address of the array; 0 where there is none.
    pub(crate) fn array(&self) -> u32 {
        self.array.get()
    }

    /// The number of the agent that holds the lock; 0: nobody.
    pub(crate) fn holder(&self) -> u32 {
        self.lock.holder()
    }

    /// Wakes everybody who waits for the lock.
    pub(crate) fn wake_all(&self) {
        self.lock.wake_all();
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;

    const BATCH: usize = 2;

    fn words<const N: usize>(values: [u32; N]) -> [PlainU32; N] {
        values.map(PlainU32::new)
    }

    fn values(words: &[PlainU32]) -> Vec<u32> {
        words.iter().map(PlainU32::get).collect()
    }

    extern crate std;
    use std::vec::Vec;

    /// One worker puts a batch while two others each try to take one, all with a peek before the
    /// lock: at most one gets it, whole and in order, and what nobody got is still there.
    #[test]
    fn a_batch_goes_to_one_taker_whole() {
        loom::model(|| {
            let transfer = Transfer {
                lock: Lock::new(),
                count: PlainU32::new(0),
                capacity: PlainU32::new(4),
                array: PlainU32::new(0),
            };
            let shared = Arc::new((transfer, words([0; 4])));
            let takers: Vec<_> = (1..=2)
                .map(|number| {
                    let shared = shared.clone();
                    loom::thread::spawn(move || {
                        let mine = words([0; BATCH]);
                        let (transfer, entries) = &*shared;
                        let agent = Agent::numbered(number);
                        let taken = transfer.take(entries, &mine, agent, |_| (), |_| ());
                        (taken > 0).then(|| (taken as usize, values(&mine)))
                    })
                })
                .collect();
            let put = shared.0.put(
                &shared.1,
                &words([16, 32]),
                Agent::numbered(7),
                |_| (),
                || (),
            );
            let taken: Vec<_> = takers
                .into_iter()
                .filter_map(|taker| taker.join().unwrap())
                .collect();
            let left = shared.0.count.get() as usize;
            assert_eq!(taken.len() * BATCH + left, if put { BATCH } else { 0 });
            for (objects, batch) in taken {
                assert_eq!((objects, &batch[..]), (BATCH, &[16, 32][..]));
            }
        });
    }

    /// Two workers put into a cache with room for one batch: exactly one fits, or both were busy.
    #[test]
    fn a_full_cache_refuses_under_the_lock() {
        loom::model(|| {
            let transfer = Transfer {
                lock: Lock::new(),
                count: PlainU32::new(0),
                capacity: PlainU32::new(3),
                array: PlainU32::new(0),
            };
            let shared = Arc::new((transfer, words([0; 3])));
            let other = shared.clone();
            let putter = loom::thread::spawn(move || {
                other.0.put(
                    &other.1,
                    &words([16, 32]),
                    Agent::numbered(8),
                    |_| (),
                    || (),
                )
            });
            let mine = shared.0.put(
                &shared.1,
                &words([48, 64]),
                Agent::numbered(7),
                |_| (),
                || (),
            );
            let theirs = putter.join().unwrap();
            assert!(!(mine && theirs));
            assert_eq!(
                shared.0.count.get() as usize,
                if mine || theirs { BATCH } else { 0 }
            );
            if mine {
                assert_eq!(values(&shared.1[..2]), [48, 64]);
            }
            if theirs {
                assert_eq!(values(&shared.1[..2]), [16, 32]);
            }
        });
    }
}
