//! Frees, good ones and bad ones.

use super::super::Bad;
use super::Oracle;
use warena::{ChunkSource, FreeError, ReallocError};

impl Oracle<'_> {
    pub(super) fn free(&mut self, worker: usize, object: usize, nowait: bool) {
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

    pub(super) fn free_bulk(&mut self, worker: usize, first: usize, count: usize, twice: bool) {
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

    pub(super) fn free_bad(&mut self, worker: usize, object: usize, bad: Bad) {
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
}
