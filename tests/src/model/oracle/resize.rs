//! Resizes: which blocks stay where they are, and what moving one is.

use super::allocate::Asked;
use super::{CHUNK, Live, Oracle};
use crate::{block_at, block_bytes_of, whole_bytes};
use warena::{AllocError, ChunkSource, ReallocError, order_of};

/// What must come of a resize.
struct Resize {
    /// Whether the block stays where it is.
    stays: bool,
    /// Whether that takes the heap lock to find out.
    lock: bool,
}

impl Oracle<'_> {
    pub(super) fn realloc(&mut self, worker: usize, object: usize, size: usize) {
        let Some(address) = self.choose(object) else {
            return;
        };
        let mut live = self
            .objects
            .remove(&address)
            .expect("chosen among the live");
        let size_of_block = size.clamp(1, 0xfff0_0000);
        let (from, to) = (live.bytes, block_bytes_of(&self.config, size_of_block));
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
        let got = match result {
            // No memory for a small one elsewhere, so it shrank where it is, under the lock.
            Ok(()) if now == address => Err(AllocError::OutOfMemory),
            Ok(()) => Ok(now),
            Err(ReallocError::Size(error)) => Err(error),
            Err(error) => panic!("{error}"),
        };
        let slot = self.workers[worker].slot();
        let shrank = result.is_ok() && got.is_err();
        assert!(!shrank || to < from, "it grew over what it had no room for");
        let end = if shrank {
            address + from as u32
        } else {
            address
        };
        let asked = Asked {
            bytes: to,
            alignment: whole_bytes(to).min(CHUNK),
            by_cache: to < CHUNK,
            grow: true,
            gather: true,
            and_free: true,
            gave_back: address..end,
        };
        let locks = locks - u64::from(shrank);
        self.allocated(worker, &asked, &before, refused, locks, got);
        if got.is_ok() {
            assert_ne!(now, address);
            self.live.remove(address as usize);
            self.freed.push(address);
            self.caches.free(slot, live.order(), address);
            self.live.add(now as usize, to);
            self.objects.insert(now, Live { bytes: to, ..live });
        } else if shrank {
            self.live.remove(address as usize);
            self.live.add(address as usize, to);
            self.objects.insert(address, Live { bytes: to, ..live });
        } else {
            self.objects.insert(address, live);
        }
    }

    /// What must come of resizing the block at `address` from one size of block to another.
    fn resize_of(&self, address: u32, from: usize, to: usize) -> Resize {
        match (from < CHUNK, to < CHUNK) {
            (true, true)
                if !self.config.checking
                    && whole_bytes(to) < whole_bytes(from)
                    && self.caches.is_cached(order_of(to as u32)) =>
            {
                Resize {
                    stays: false,
                    lock: false,
                }
            }
            (true, true) if to <= from => Resize {
                stays: true,
                lock: to < from,
            },
            (true, true) => {
                // Where the free block ends that starts there, if one does.
                let free_until = |start: usize| {
                    let (state, order) = block_at(self.source.memory(), start as u32);
                    state.is_free().then_some(start + (16 << order))
                };
                let is_placed = (address as usize).is_multiple_of(whole_bytes(to));
                let (first, end) = (address as usize + from, address as usize + to);
                let mut reached = is_placed.then_some(first);
                while let Some(start) = reached.filter(|&start| start < end) {
                    reached = free_until(start);
                }
                let stays = reached.is_some();
                Resize { lock: stays, stays }
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
}
