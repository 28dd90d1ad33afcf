//! What holds in every host: one agent, the core on linear memory, and the bindings around it.

use std::hint::black_box;
use warena::{AllocError, Arena, Config, Context, FreeError, MAX_BLOCK_BYTES, WasmMemory};
use warena_wasm::refusal::{Code, take_refusal};
use warena_wasm::{answer, arena, bulk, c, object};

/// Objects of every size come back, through refills and spills, and the arena is in order.
pub fn allocates_and_frees(context: Context) {
    let arena = Arena::create(WasmMemory, Config::DEFAULT, context).unwrap();
    let worker = arena.attach().unwrap();
    let sizes = (0..2000).map(|index| 1 + index * 37 % 5000);
    let objects: Vec<_> = sizes
        .map(|bytes| {
            let object = worker.alloc(bytes).unwrap();
            // SAFETY: the object has at least `bytes` bytes, and is this test's.
            unsafe { object.as_ptr().write_bytes(bytes as u8, bytes) };
            (object, bytes)
        })
        .collect();
    assert_eq!(arena.verify().unwrap().allocated_objects, 2000);
    for &(object, bytes) in &objects {
        // SAFETY: as above; nothing else writes there.
        let held = unsafe { std::slice::from_raw_parts(object.as_ptr(), bytes) };
        assert!(held.iter().all(|&byte| byte == bytes as u8));
        worker.free(object.as_ptr()).unwrap();
    }
    let stats = arena.stats();
    assert!(stats.refills_from_heap > 0 && stats.spills_to_transfer > 0);
    assert!(worker.free(objects[0].0.as_ptr()).is_err());
    assert_eq!(worker.free(8 as *mut u8), Err(FreeError::Foreign));
    drop(worker);
    let verification = arena.verify().unwrap();
    assert_eq!(
        (
            verification.allocated_objects,
            verification.cached_bytes,
            arena.stats().workers
        ),
        (0, 0, 0)
    );
}

/// What is asked for beyond the memory's size makes it grow, by chunks that are the arena's own.
pub fn grows(context: Context) {
    let arena = Arena::create(WasmMemory, Config::DEFAULT, context).unwrap();
    let worker = arena.attach().unwrap();
    let before = core::arch::wasm32::memory_size::<0>();
    let objects: Vec<_> = (0..16)
        .map(|_| worker.alloc(MAX_BLOCK_BYTES as usize).unwrap())
        .collect();
    assert!(core::arch::wasm32::memory_size::<0>() > before);
    for (index, object) in objects.iter().enumerate() {
        // SAFETY: the object has that many bytes, and is this test's.
        unsafe {
            object
                .as_ptr()
                .write_bytes(index as u8, MAX_BLOCK_BYTES as usize)
        };
    }
    for (index, object) in objects.iter().enumerate() {
        // SAFETY: written above.
        assert_eq!(unsafe { object.as_ptr().read() }, index as u8);
        worker.free(object.as_ptr()).unwrap();
    }
    assert_eq!(arena.verify().unwrap().allocated_objects, 0);
}

/// A free that finds its own agent inside the heap waits for nobody: it is deferred, and done by
/// the next who has the lock. An allocation says that it is busy.
pub fn reentry_is_deferred(context: Context) {
    let arena = Arena::create(WasmMemory, Config::NO_CACHES, context).unwrap();
    let worker = arena.attach().unwrap();
    let objects = [(); 3].map(|()| worker.alloc(100).unwrap().as_ptr());
    let huge = worker.alloc(3 << 20).unwrap().as_ptr();
    let interior = objects[0].wrapping_add(16);
    let mut calls = 0;
    // What is refused is reported under the lock.
    let freed = worker.free_bulk(&[interior, objects[0]], |index, error| {
        assert_eq!((index, error), (0, FreeError::Interior));
        worker.free(objects[1]).unwrap();
        worker.free_nowait(huge).unwrap();
        for object in [objects[1], huge] {
            assert_eq!(worker.free(object), Err(FreeError::Deferred));
        }
        assert_eq!(worker.alloc(100), Err(AllocError::Busy));
        assert!(arena.stats().deferred_bytes > 3 << 20);
        calls += 1;
    });
    assert_eq!((freed, calls), (1, 1));
    worker.free(objects[2]).unwrap();
    let stats = arena.stats();
    assert_eq!((stats.deferred_bytes, stats.deferred_frees), (0, 2));
    assert_eq!(stats.huge_chunks, 0);
    drop(worker);
    assert_eq!(arena.verify().unwrap().allocated_objects, 0);
}

/// A seat whose detach is refused is still this agent's, and still serves C's names.
pub fn a_busy_detach_changes_nothing(context: Context) {
    let arena = Arena::create(WasmMemory, Config::NO_CACHES, context).unwrap();
    let worker = arena.attach().unwrap();
    let interior = worker.alloc(100).unwrap().as_ptr().wrapping_add(16);
    // SAFETY: a live arena's header, and a seat that is this agent's until it is given up.
    unsafe {
        let seat = arena::attach(arena.address(), context == Context::MayWait);
        c::serve_c(seat);
        // What is refused is reported under the lock, which this agent does not get once more.
        worker.free_bulk(&[interior], |_, _| {
            assert!(!arena::detach(seat));
            assert!(refused(Code::Busy, "lock"));
        });
        let object = c::malloc(100);
        assert!(worker.owns(object));
        c::free(object);
        assert!(arena::detach(seat));
        // The optimizer knows a `malloc`, and takes one whose object nobody looks at as granted.
        let none = black_box(c::malloc(100));
        assert!(none.is_null(), "and once given up it does not");
    }
    worker.free(interior.wrapping_sub(16)).unwrap();
    drop(worker);
    assert_eq!(arena.verify().unwrap().allocated_objects, 0);
}

/// The sentence that the bindings left.
fn text() -> String {
    let (address, length) = (answer::text_address(), answer::text_length());
    // SAFETY: this agent's own bytes, which are written by its next call only.
    let bytes = unsafe { std::slice::from_raw_parts(address as *const u8, length as usize) };
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A figure that the bindings left.
fn figure(index: usize) -> f64 {
    // SAFETY: as in `text`.
    unsafe { *(answer::figures_address() as *const f64).add(index) }
}

/// Whether the last call was refused with this code, and these words in its message.
fn refused(code: Code, words: &str) -> bool {
    take_refusal() == code as u32 + 1 && text().contains(words)
}

/// The bindings answer with integers, and say afterwards why they refused.
pub fn bindings_refuse_by_name(may_wait: bool) {
    let config = Config::DEFAULT;
    let create = |capacity| {
        arena::create(
            config.cached_orders,
            capacity,
            config.burst_capacity,
            config.batch,
            config.transfer_capacity,
            config.max_workers,
            config.max_chunks,
            may_wait,
        )
    };
    assert_eq!(create(0), 0);
    assert!(refused(Code::InvalidOption, "capacity"));
    let header = create(config.capacity);
    // SAFETY: the header was just made, and the seat is this agent's until it is given up.
    unsafe {
        assert_eq!(arena::attach(header + 64, may_wait), 0);
        assert!(refused(Code::InvalidHandle, "no arena"));
        let seat = arena::attach(header, may_wait);
        assert_eq!(arena::slot_number(seat), 0);
        let pointer = object::alloc(seat, 100);
        assert!(pointer != 0 && pointer.is_multiple_of(128));
        assert_eq!(take_refusal(), 0);
        assert!(object::free_object(seat, pointer));
        assert!(!object::free_object(seat, pointer));
        assert!(refused(Code::DoubleFree, "double free"));
        assert_eq!(take_refusal(), 0);
        assert_eq!(object::alloc(seat, 0), 0);
        assert!(refused(Code::InvalidSize, "at least 1 byte"));
        assert_eq!(object::alloc_aligned(seat, 100, 3), 0);
        assert!(refused(Code::BadAlignment, "power of two"));
        frees_in_bulk(seat);
        assert!(arena::stats(header));
        assert_eq!(figure(0), 1.0, "chunks, the first figure");
        assert!(arena::verify(header, may_wait));
        assert_eq!(figure(0), 1.0);
        assert_eq!(arena::grow(header, 2, may_wait), 3);
        assert!(arena::detach(seat));
        assert!(!arena::stats(header + 64));
        assert!(refused(Code::InvalidHandle, "no arena"));
        assert!(figure(0).is_nan(), "that is about no pointer");
    }
}

/// Bulk calls pass pointers in the agent's own memory, and refusals by their numbers.
///
/// # Safety
///
/// The seat is this agent's.
unsafe fn frees_in_bulk(seat: u32) {
    // SAFETY: the caller's promise, and memory that is this agent's own.
    unsafe {
        let first = bulk::alloc_bulk(seat, 100, 4);
        assert_eq!(bulk::alloc_bulk(seat, 16, 16), 0);
        assert!(refused(Code::TooLarge, "larger"));
        let passed = answer::pointers_address() as *mut u32;
        (0..16).for_each(|index| passed.add(index).write(first + index as u32 * 128));
        assert_eq!(bulk::free_bulk(seat, 16), 0);
        assert_eq!(*passed.add(15), 0);
        passed.write(first);
        passed.add(1).write(0);
        assert_eq!(bulk::free_bulk(seat, 2), 1);
        bulk::explain_free(*passed);
        assert!(refused(Code::NotAllocated, "freed already"));
        assert_eq!(*passed.add(1), 0);
    }
}
