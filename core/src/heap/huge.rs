//! Huge blocks: requests that no chunk can hold take runs of whole chunks.
//!
//! A run has no block map: the chunk table says where it starts and how many chunks it has, so its
//! pointer is a multiple of 1 MiB and all its bytes are the program's. Runs come from the source
//! and go back to it when freed, where their chunks coalesce with their neighbours by themselves.

use super::block_map::ChunkKind;
use super::central::{Heap, Taken};
use crate::order::CHUNK_BYTES;
use crate::source::ChunkSource;

impl Heap<'_> {
    /// Takes a run of `count` chunks.
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    pub(crate) fn take_huge(&mut self, source: &impl ChunkSource, count: u32) -> Option<Taken> {
        if !self.has_room_for(count) {
            return None;
        }
        let run = source.acquire(count, self.claimant())?;
        self.central.table.run_chunks(run.address).set(count);
        for index in 1..count {
            self.central
                .table
                .set_kind(run.address + index * CHUNK_BYTES, ChunkKind::HugeRest);
        }
        // Last: until then the run is nobody's.
        self.central.table.set_kind(run.address, ChunkKind::Huge);
        self.central.huge_chunks.add(count);
        self.central.grows.add(count.into());
        self.note_peaks();
        Some(Taken {
            address: run.address,
            zeroed: run.zeroed,
        })
    }

    /// The chunks of the huge block at `address`, if one starts there.
    pub(crate) fn huge_chunks(&self, address: u32) -> Option<u32> {
        let starts = address.is_multiple_of(CHUNK_BYTES)
            && self.central.table.kind(address) == ChunkKind::Huge;
        starts.then(|| self.central.table.run_chunks(address).get())
    }

    /// Gives back all chunks of the huge block at `address` but the first `keep`.
    ///
    /// # Safety
    ///
    /// A huge block of more than `keep` chunks starts there, and nobody uses what goes.
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    pub(crate) unsafe fn give_huge(&mut self, source: &impl ChunkSource, address: u32, keep: u32) {
        let count = self.central.table.run_chunks(address).get();
        // What is behind the run, or has no first chunk, is nobody's: so the run is cut, or loses its
        // first chunk, before the others go.
        if keep > 0 {
            self.central.table.run_chunks(address).set(keep);
        }
        for index in keep..count {
            self.central
                .table
                .set_kind(address + index * CHUNK_BYTES, ChunkKind::Returned);
        }
        self.central.table.run_chunks(address).set(keep);
        self.central.huge_chunks.sub(count - keep);
        self.central.releases.add((count - keep).into());
        // SAFETY: the table knows these chunks no more, and the caller says that nobody does.
        unsafe { source.release(address + keep * CHUNK_BYTES, count - keep) };
    }
}
