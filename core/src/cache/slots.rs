//! The slots of an arena: a directory of seats, made when first needed and used again.
//!
//! All of it is under the heap lock. Attaching takes the seat that was left last, or makes a new
//! one; a seat, once made, stays for the arena's life, so a watcher may follow the directory at
//! any time.

use super::slot::Slot;
use crate::config::Config;
use crate::error::AttachError;
use crate::heap::central::Heap;
use crate::lock::Context;
use crate::memory::Memory;
use crate::order::order_of;
use crate::source::ChunkSource;
use crate::sync::{AtomicU32, Ordering, PlainU32};

/// The directory. Zeroed memory has no seats.
#[repr(C)]
pub(crate) struct Slots {
    /// Address of `max_workers` addresses of slots.
    pub(crate) directory: PlainU32,
    /// Seats made so far: the first entries of the directory. Raised by a release after the entry
    /// was written, and read by an acquire, so a watcher without the lock finds every entry.
    pub(crate) made: AtomicU32,
    /// The seat that was left last, or 0.
    first_free: PlainU32,
}

impl Slots {
    /// The slots made so far, taken or not.
    pub(crate) fn iter<'a>(&self, memory: Memory) -> impl Iterator<Item = &'a Slot> {
        // SAFETY: the directory has `max_workers` entries, and the first `made` of them are
        // addresses of slots; neither is ever taken back while the arena lives.
        unsafe { memory.slice::<PlainU32>(self.directory.get(), self.made.load(Ordering::Acquire)) }
            .iter()
            .map(move |entry| unsafe { memory.at::<Slot>(entry.get()) })
    }

    /// A seat for a worker of `context` in the arena of `config` at `header`: its address.
    pub(crate) fn take(
        &self,
        heap: &mut Heap<'_>,
        source: &impl ChunkSource,
        context: Context,
        config: &Config,
        header: u32,
    ) -> Result<u32, AttachError> {
        let free = self.first_free.get();
        let address = if free != 0 {
            free
        } else {
            self.make(heap, source, config, header)?
        };
        // SAFETY: the address is that of a slot nobody sits in.
        let slot = unsafe { heap.memory().at::<Slot>(address) };
        self.first_free.set(slot.next_free.get());
        slot.may_wait.set((context == Context::MayWait).into());
        slot.attached.set(1);
        Ok(address)
    }

    /// Takes the seat back, its caches empty.
    pub(crate) fn give(&self, _locked: &mut Heap<'_>, address: u32, slot: &Slot) {
        slot.attached.set(0);
        slot.next_free.set(self.first_free.get());
        self.first_free.set(address);
    }

    fn make(
        &self,
        heap: &mut Heap<'_>,
        source: &impl ChunkSource,
        config: &Config,
        header: u32,
    ) -> Result<u32, AttachError> {
        let number = self.made.load(Ordering::Relaxed);
        if number == config.max_workers {
            return Err(AttachError::NoSlot);
        }
        let bytes = Slot::bytes(config);
        let order = order_of(bytes);
        let address = heap
            .take_metadata(order)
            .or_else(|| heap.grow(source).and_then(|()| heap.take_metadata(order)))
            .ok_or(AttachError::OutOfMemory)?;
        let memory = heap.memory();
        // SAFETY: the block is the heap's, was just taken for this, and is large enough.
        let slot = unsafe {
            memory.pointer::<u8>(address).write_bytes(0, bytes as usize);
            memory.at::<Slot>(address)
        };
        slot.begin(memory, address, number, header, config);
        // SAFETY: the directory has `max_workers` entries and `number` is below that.
        let entry = unsafe { memory.at::<PlainU32>(self.directory.get() + number * 4) };
        entry.set(address);
        self.made.store(number + 1, Ordering::Release);
        Ok(address)
    }
}
