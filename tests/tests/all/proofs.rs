//! `verify()` itself: each kind of damage is done to a sound arena, named by the violation that
//! says where it is, and undone. A proof that cannot fail would prove nothing in any other test.

use std::ptr::null_mut;
use warena::{
    Arena, BlockState, CHUNK_BYTES, ChunkSource, Config, Layout, MappedMemory, UNIT_BYTES,
    Violation, Worker,
};
use warena_tests::{arena, free_blocks, prove, prove_idle};

const LAYOUT: Layout = Layout::CURRENT;
/// The order and size of the objects here.
const ORDER: u32 = 2;
const SIZE: usize = 64;

/// An arena with two allocated buddies, and three objects in the only worker's cache.
struct Sound<'a> {
    memory: &'a MappedMemory,
    arena: &'a Arena<&'a MappedMemory>,
    buddies: [u32; 2],
    /// Addresses of the first entries of the stack of `ORDER`.
    entries: [u32; 3],
}

impl Sound<'_> {
    fn read<T>(&self, address: u32) -> T {
        // SAFETY: inside the arena, aligned, and nobody else runs.
        unsafe { self.memory.memory().pointer::<T>(address).read() }
    }

    fn write<T>(&self, address: u32, value: T) {
        // SAFETY: as above; whatever it breaks is put back before the arena is used again.
        unsafe { self.memory.memory().pointer::<T>(address).write(value) }
    }

    /// Writes `value` at `address`, sees `verify()` say `wanted`, and puts back what was there.
    fn broken<T>(&self, address: u32, value: T, wanted: Violation) {
        let before: T = self.read(address);
        self.write(address, value);
        assert_eq!(self.arena.verify(), Err(wanted));
        self.write(address, before);
        prove(self.arena);
    }
}

/// Where the block map's byte of `address` is.
fn map_of(address: u32) -> u32 {
    let chunk = address & !(CHUNK_BYTES - 1);
    chunk + (address - chunk) / UNIT_BYTES
}

fn byte_of(state: BlockState, order: u32) -> u8 {
    (state as u8) << 5 | order as u8
}

fn with_sound_arena(test: impl FnOnce(&Sound<'_>)) {
    let memory = MappedMemory::new(4 << 20).unwrap();
    let arena = arena(&memory, Config::DEFAULT);
    let worker = arena.attach().unwrap();
    let mut out = [null_mut(); 2];
    worker.alloc_bulk(SIZE, 1, &mut out).unwrap();
    let cached = [(); 3].map(|()| worker.alloc(SIZE).unwrap());
    worker.flush().unwrap();
    for object in cached {
        worker.free(object.as_ptr()).unwrap();
    }
    let slot = worker.into_address();
    let lifo = slot + LAYOUT.slot_lifos + ORDER * LAYOUT.lifo_bytes;
    let mut sound = Sound {
        memory: &memory,
        arena: &arena,
        buddies: out.map(|pointer| memory.memory().address(pointer).unwrap()),
        entries: [0; 3],
    };
    let base: u32 = sound.read(lifo + LAYOUT.lifo_base);
    sound.entries = [0, 1, 2].map(|index| base + index * LAYOUT.lifo_entry_bytes);
    prove(&arena);
    test(&sound);
    let source = &memory;
    // SAFETY: the slot is still attached, and the first handle on it is gone.
    let worker = unsafe { Worker::at(&source, slot) };
    out.into_iter()
        .for_each(|pointer| worker.free(pointer).unwrap());
    drop(worker);
    prove_idle(&arena);
}

#[test]
fn a_byte_that_no_block_starts_with() {
    with_sound_arena(|sound| {
        let [address, _] = sound.buddies;
        for byte in [0x00, 0x1f] {
            sound.broken(map_of(address), byte, Violation::NoBlock { address, byte });
        }
    });
}

#[test]
fn a_block_where_none_of_its_order_can_be() {
    with_sound_arena(|sound| {
        let [_, address] = sound.buddies;
        // Codes from 16 on are some eighths of an order from 9 on.
        for (code, order) in [(ORDER + 1, ORDER + 1), (15, 15), (17, 9), (28, 15)] {
            let byte = byte_of(BlockState::Allocated, code);
            sound.broken(
                map_of(address),
                byte,
                Violation::Misplaced { address, order },
            );
        }
        for code in [30, 31] {
            let byte = byte_of(BlockState::Allocated, code);
            sound.broken(map_of(address), byte, Violation::NoBlock { address, byte });
        }
    });
}

#[test]
fn a_block_inside_another() {
    with_sound_arena(|sound| {
        let [address, buddy] = sound.buddies;
        let inside = address + 2 * UNIT_BYTES;
        let byte = byte_of(BlockState::Free, 0);
        sound.broken(map_of(inside), byte, Violation::Overlap { address, inside });
        let larger = byte_of(BlockState::Allocated, ORDER + 1);
        let inside = buddy;
        sound.broken(
            map_of(address),
            larger,
            Violation::Overlap { address, inside },
        );
    });
}

#[test]
fn free_buddies_that_did_not_merge() {
    with_sound_arena(|sound| {
        let [address, buddy] = sound.buddies;
        let free = byte_of(BlockState::Free, ORDER);
        let allocated: u8 = sound.read(map_of(buddy));
        sound.write(map_of(buddy), free);
        let order = ORDER;
        let before: u8 = sound.read(map_of(address));
        sound.write(map_of(address), free);
        let wanted = Violation::Uncoalesced { address, order };
        assert_eq!(sound.arena.verify(), Err(wanted));
        sound.write(map_of(address), before);
        sound.write(map_of(buddy), allocated);
        prove(sound.arena);
    });
}

#[test]
fn a_free_list_whose_links_are_wrong() {
    with_sound_arena(|sound| {
        let blocks: Vec<_> = free_blocks(sound.memory.memory(), sound.arena).collect();
        assert!(!blocks.is_empty());
        for (address, order) in blocks {
            let previous = address + 4;
            let wanted = Violation::FreeList { address, order };
            sound.broken(previous, 0x00de_ad00, wanted);
            // A list that leads to what is no free block.
            let next: u32 = sound.read(address);
            let elsewhere = sound.buddies[0] & !((16 << order) - 1);
            if next == 0 && elsewhere != address {
                let wanted = Violation::FreeList {
                    address: elsewhere,
                    order,
                };
                sound.broken(address, elsewhere, wanted);
            }
        }
    });
}

#[test]
fn an_entry_of_a_cache_that_is_not_cached() {
    with_sound_arena(|sound| {
        let address: u32 = sound.read(sound.entries[1]);
        let order = ORDER;
        let byte = byte_of(BlockState::Allocated, ORDER);
        let wanted = Violation::Entry {
            address,
            order,
            byte,
        };
        sound.broken(map_of(address), byte, wanted);
        for bad in [0, 8, u32::MAX] {
            let wanted = Violation::Entry {
                address: bad,
                order,
                byte: 0,
            };
            sound.broken(sound.entries[1], bad, wanted);
        }
    });
}

#[test]
fn an_object_in_two_places_and_one_in_none() {
    with_sound_arena(|sound| {
        let mut held = sound.entries.map(|entry| (sound.read::<u32>(entry), entry));
        held.sort_unstable();
        let [(lower, lower_entry), .., (upper, upper_entry)] = held;
        // What two workers leave behind that free one object in the same nanoseconds.
        sound.broken(upper_entry, lower, Violation::Twice { address: lower });
        let wanted = Violation::Lost {
            address: lower,
            state: BlockState::Cached,
        };
        sound.broken(lower_entry, upper, wanted);
    });
}

#[test]
fn counters_that_are_off() {
    with_sound_arena(|sound| {
        let header = sound.arena.address();
        for (offset, name, unit) in [
            (LAYOUT.header_chunks, "chunks", 1),
            (LAYOUT.header_free_units, "free bytes", 16),
            (LAYOUT.header_metadata_units, "metadata bytes", 16),
            (
                LAYOUT.header_blocks_out + 4 * ORDER,
                "blocks out of the heap",
                1,
            ),
        ] {
            let right: u32 = sound.read(header + offset);
            let wanted = Violation::Counter {
                name,
                counted: u64::from(right + 1) * unit,
                found: u64::from(right) * unit,
            };
            sound.broken(header + offset, right + 1, wanted);
        }
    });
}
