//! The slots of an arena: a directory of seats, made when first needed and used again.
//!
//! All of it is under the heap lock. Attaching takes the seat that was left last, or makes a new
//! one; a seat, once made, stays for the arena's life, so a watcher may follow the directory at
//! any time.

use super::slot::Slot;
use crate::arena::Header;
use crate::error::AttachError;
use crate::heap::central::Heap;
use crate::lock::Context;
use crate::order::order_of;
use crate::source::ChunkSource;
use crate::sync::PlainU32;

/// The directory. Zeroed memory has no seats.
#[repr(C)]
pub(crate) struct Slots {
    /// Address of `max_workers` addresses of slots.
    pub(crate) directory: PlainU32,
    /// Seats made so far: the first entries of the directory.
    pub(crate) made: PlainU32,
    /// The seat that was left last, or 0.
    first_free: PlainU32,
}

impl Header {
    /// The slots made so far, taken or not.
    pub(crate) fn slots<'a>(&self, memory: crate::Memory) -> impl Iterator<Item = &'a Slot> {
        // SAFETY: the directory has `max_workers` entries, and the first `made` of them are
        // addresses of slots; neither is ever taken back while the arena lives.
        unsafe { memory.slice::<PlainU32>(self.slots.directory.get(), self.slots.made.get()) }
            .iter()
            .map(move |entry| unsafe { memory.at::<Slot>(entry.get()) })
    }

    /// A seat for a worker of `context`: its address.
    pub(crate) fn take_slot(
        &self,
        heap: &mut Heap<'_>,
        source: &impl ChunkSource,
        context: Context,
    ) -> Result<u32, AttachError> {
        let free = self.slots.first_free.get();
        let address = if free != 0 {
            free
        } else {
            self.make_slot(heap, source)?
        };
        // SAFETY: the address is that of a slot nobody sits in.
        let slot = unsafe { heap.memory().at::<Slot>(address) };
        self.slots.first_free.set(slot.next_free.get());
        slot.may_wait.set((context == Context::MayWait).into());
        slot.attached.set(1);
        Ok(address)
    }

    /// Takes the seat back, its caches empty.
    pub(crate) fn give_slot(&self, _locked: &mut Heap<'_>, address: u32, slot: &Slot) {
        slot.attached.set(0);
        slot.next_free.set(self.slots.first_free.get());
        self.slots.first_free.set(address);
    }

    fn make_slot(
        &self,
        heap: &mut Heap<'_>,
        source: &impl ChunkSource,
    ) -> Result<u32, AttachError> {
        let number = self.slots.made.get();
        if number == self.config.max_workers.get() {
            return Err(AttachError::NoSlot);
        }
        let (orders, capacity) = (self.config.cached_orders.get(), self.config.capacity.get());
        let bytes = Slot::bytes(orders, capacity);
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
        slot.begin(address, number, self.address.get(), orders, capacity);
        // SAFETY: the directory has `max_workers` entries and `number` is below that.
        let entry = unsafe { memory.at::<PlainU32>(self.slots.directory.get() + number * 4) };
        entry.set(address);
        self.slots.made.set(number + 1);
        Ok(address)
    }
}
