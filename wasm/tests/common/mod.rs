//! What holds in every host: one agent, the core on linear memory, and the bindings around it.

use js_sys::{Reflect, Uint32Array};
use warena::{AllocError, Arena, Config, Context, FreeError, MAX_BLOCK_BYTES, WasmMemory};
use wasm_bindgen::JsValue;

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

fn text(object: &JsValue, key: &str) -> Option<String> {
    Reflect::get(object, &key.into()).unwrap().as_string()
}

/// The bindings answer with integers, and say afterwards why they refused.
pub fn bindings_refuse_by_name(may_wait: bool) {
    use warena_wasm::{arena, bulk, object, refusal::take_refusal};
    let config = Config::DEFAULT;
    let create = |capacity| {
        arena::create(
            config.cached_orders,
            capacity,
            config.batch,
            config.transfer_capacity,
            config.max_workers,
            config.max_chunks,
            may_wait,
        )
    };
    let refused = create(0).unwrap_err();
    assert_eq!(text(&refused, "code").as_deref(), Some("InvalidOption"));
    let header = create(config.capacity).unwrap();
    // SAFETY: the header was just made, and the seat is this agent's until it is given up.
    unsafe {
        let refused = arena::attach(header + 64, may_wait).unwrap_err();
        assert_eq!(text(&refused, "code").as_deref(), Some("InvalidHandle"));
        let seat = arena::attach(header, may_wait).unwrap();
        assert_eq!(arena::slot_number(seat), 0);
        let pointer = object::alloc(seat, 100);
        assert!(pointer != 0 && pointer.is_multiple_of(128));
        assert!(take_refusal().is_undefined());
        assert!(object::free(seat, pointer));
        assert!(!object::free(seat, pointer));
        let refused = take_refusal();
        assert_eq!(text(&refused, "code").as_deref(), Some("DoubleFree"));
        assert!(text(&refused, "message").is_some_and(|message| message.contains("double free")));
        assert!(take_refusal().is_undefined());
        assert_eq!(object::alloc(seat, 0), 0);
        assert_eq!(
            text(&take_refusal(), "code").as_deref(),
            Some("InvalidSize")
        );
        assert_eq!(object::alloc_aligned(seat, 100, 3), 0);
        assert_eq!(
            text(&take_refusal(), "code").as_deref(),
            Some("BadAlignment")
        );
        let first = bulk::alloc_bulk(seat, 100, 4);
        assert_eq!(bulk::alloc_bulk(seat, 16, 16), 0);
        assert_eq!(text(&take_refusal(), "code").as_deref(), Some("TooLarge"));
        let objects: Vec<_> = (0..16).map(|index| first + index * 128).collect();
        let refused = bulk::free_bulk(seat, &Uint32Array::from(&objects[..]));
        assert_eq!(refused.length(), 0);
        let refused = bulk::free_bulk(seat, &Uint32Array::from(&objects[15..]));
        let index = Reflect::get(&refused.get(0), &"index".into()).unwrap();
        assert_eq!(index.as_f64(), Some(0.0));
        let stats = arena::stats(header).unwrap();
        let owned = Reflect::get(&stats, &"ownedBytes".into()).unwrap();
        assert_eq!(owned.as_f64(), Some(1_048_576.0), "a number, not a bigint");
        arena::verify(header, may_wait).unwrap();
        arena::detach(seat).unwrap();
    }
}
