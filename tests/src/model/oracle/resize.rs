//! Resizes: which blocks stay where they are, and what moving one is.

use super::allocate::Asked;
use super::{CHUNK, Live, Oracle};
use crate::{block_at, block_bytes};
use warena::{ChunkSource, ReallocError, order_of};

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
                let stays = lower && orders.all(is_free);
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
