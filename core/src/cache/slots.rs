//! The slots of an arena: a directory of seats, made when first needed and used again.
//!
//! All of it is under the heap lock, but for who sits in a standing seat. Attaching takes the seat that was left last, or makes a new
//! one; a seat, once made, stays for the arena's life, so a watcher may follow the directory at
//! any time.

use super::slot::Slot;
use crate::agent::Agent;
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
    /// How many of the seats, the first ones, are standing ones: nobody is given one, and who has
    /// none of its own takes one for the length of a call, without a lock.
    pub(crate) standing: PlainU32,
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
        slot.sit(Agent::current(), context);
        Ok(address)
    }

    /// Takes the seat back, its caches empty.
    pub(crate) fn give(&self, _locked: &mut Heap<'_>, address: u32, slot: &Slot) {
        slot.vacate();
        slot.next_free.set(self.first_free.get());
        self.first_free.set(address);
    }

    /// Lists the seats that nobody sits in anew: the list's holder may have ended in the middle.
    pub(crate) fn rebuild(&self, heap: &mut Heap<'_>) {
        let memory = heap.memory();
        self.first_free.set(0);
        let standing = self.standing.get() as usize;
        let seats = self.iter(memory).skip(standing);
        for slot in seats.filter(|slot| slot.agent() == 0) {
            let address = memory.address(core::ptr::from_ref(slot)).unwrap_or(0);
            slot.next_free.set(self.first_free.get());
            self.first_free.set(address);
        }
    }

    /// Whether a slot in the directory is at `address`, where a block of metadata starts.
    pub(crate) fn has(&self, memory: Memory, address: u32) -> bool {
        self.iter(memory)
            .any(|slot| memory.address(core::ptr::from_ref(slot)) == Some(address))
    }

    /// Makes `count` standing seats, before any other.
    #[cfg(not(loom))]
    pub(crate) fn make_standing(
        &self,
        heap: &mut Heap<'_>,
        source: &impl ChunkSource,
        config: &Config,
        header: u32,
        count: u32,
    ) -> Result<(), AttachError> {
        for _ in 0..count {
            self.make(heap, source, config, header)?;
        }
        self.standing.set(count);
        Ok(())
    }

    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
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

#[cfg(all(test, loom))]
mod model {
    use crate::agent::Agent;
    use crate::heap::deferred::Deferred;
    use crate::lock::{Lock, Patience};
    use crate::sync::PlainU32;
    use loom::sync::Arc;

    /// An arena of one seat and three objects, 1, 2 and 3, whose sets are bits of a word: the words
    /// that pass from hand to hand when a worker detaches, under the real lock and with the real
    /// deferred list.
    struct Shared {
        lock: Lock,
        deferred: Deferred,
        links: [PlainU32; 3],
        /// Objects in the heap.
        heap: PlainU32,
        /// 1 while nobody sits in the seat.
        seat_is_free: PlainU32,
        /// Objects in the seat's cache, written by whoever sits there.
        cached: PlainU32,
    }

    impl Shared {
        /// What every call does first that takes the lock: the deferred objects go to the heap.
        fn drain(&self) {
            let mut object = self.deferred.take_all();
            while object != 0 {
                self.put(1 << object);
                object = self.links[object as usize - 1].get();
            }
        }

        fn put(&self, objects: u32) {
            assert_eq!(self.heap.get() & objects, 0, "an object twice in the heap");
            self.heap.set(self.heap.get() | objects);
        }

        /// A detach: flushes the cache, and gives the seat up, in one holding of the lock.
        fn detach(&self, agent: Agent) {
            let guard = self.lock.lock(agent, Patience::Wait);
            assert!(guard.is_ok());
            self.drain();
            self.put(self.cached.get());
            self.cached.set(0);
            self.seat_is_free.set(1);
        }

        /// An attach that takes the seat if it is free, and fills its cache behind the lock.
        fn attach(&self) {
            let guard = self.lock.lock(Agent::numbered(9), Patience::Wait);
            assert!(guard.is_ok());
            self.drain();
            if self.seat_is_free.get() == 0 {
                return;
            }
            assert_eq!(self.cached.get(), 0, "a seat with somebody else's objects");
            self.seat_is_free.set(0);
            let taken = self.heap.get();
            self.heap.set(0);
            drop(guard);
            self.cached.set(taken);
        }

        /// A free that tries for the lock once, and defers its object else.
        fn free_nowait(&self, agent: Agent, object: u32) {
            match self.lock.lock(agent, Patience::Try) {
                Ok(_guard) => {
                    self.drain();
                    self.put(1 << object);
                }
                Err(_) => {
                    let link = |next| self.links[object as usize - 1].set(next);
                    self.deferred.push(object, link);
                }
            }
        }
    }

    /// One worker detaches with an object in its cache, another attaches, a third frees without
    /// waiting: every object is in one place afterwards, whoever came first.
    #[test]
    fn a_seat_passes_on_with_nothing_in_it() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let shared = Arc::new(Shared {
                lock: Lock::new(),
                deferred: Deferred::new(),
                links: core::array::from_fn(|_| PlainU32::new(0)),
                heap: PlainU32::new(1 << 3),
                seat_is_free: PlainU32::new(0),
                cached: PlainU32::new(1 << 1),
            });
            let (leaver, freer) = (shared.clone(), shared.clone());
            let threads = [
                loom::thread::spawn(move || leaver.detach(Agent::numbered(7))),
                loom::thread::spawn(move || freer.free_nowait(Agent::numbered(8), 2)),
            ];
            shared.attach();
            for thread in threads {
                thread.join().unwrap();
            }
            shared.drain();
            let (heap, cached) = (shared.heap.get(), shared.cached.get());
            assert_eq!((heap & cached, heap | cached), (0, 0b1110));
        });
    }
}
