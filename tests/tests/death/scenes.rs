//! The scenes: what a worker does until it ends, and in the middle of what.

use std::ptr::NonNull;
use warena::{AllocError, MAX_BLOCK_BYTES, Worker};
use warena_tests::{Extent, GatedSource, Object};

/// The worker of a scene.
pub type Actor<'a> = Worker<'a, &'a GatedSource>;

/// A scene. The objects are what the worker's program has allocated and knows of: it takes an object
/// out before it frees it, and puts one in after it got it.
pub struct Scene {
    pub name: &'static str,
    /// What comes before, alive.
    pub before: fn(&Actor<'_>, &mut Vec<Object>),
    /// What the worker is in the middle of when it ends.
    pub act: fn(&Actor<'_>, &mut Vec<Object>),
    /// Objects that may be allocated and known to nobody afterwards: what the call was about to
    /// hand out, or to free.
    pub in_flight: usize,
    /// Whether the memory may grow meanwhile.
    pub grows: bool,
    /// Whether somebody else holds the heap lock meanwhile.
    pub locked: bool,
}

const SCENE: Scene = Scene {
    name: "",
    before: nothing,
    act: nothing,
    in_flight: 1,
    grows: false,
    locked: false,
};

fn nothing(_: &Actor<'_>, _: &mut Vec<Object>) {}

fn alloc(worker: &Actor<'_>, objects: &mut Vec<Object>, sizes: &[usize]) {
    for &size in sizes {
        let stamp = objects.len() as u64;
        objects.extend(Object::alloc(worker, size, stamp, Extent::Ends));
    }
}

/// Notes an object of `size` bytes that was just allocated.
fn keep(objects: &mut Vec<Object>, allocated: Result<NonNull<u8>, AllocError>, size: usize) {
    if let Ok(pointer) = allocated {
        // SAFETY: just allocated, of that size.
        objects.push(unsafe { Object::adopt(pointer, size, 5, Extent::Ends) });
    }
}

fn free_all(worker: &Actor<'_>, objects: &mut Vec<Object>) {
    while let Some(object) = objects.pop() {
        object.free(worker);
    }
}

/// Frees every second one, so that what is free is in pieces.
fn free_half(worker: &Actor<'_>, objects: &mut Vec<Object>) {
    let mut index = 0;
    while index < objects.len() {
        objects.remove(index).free(worker);
        index += 1;
    }
}

const MIXED: [usize; 12] = [
    16, 64, 64, 100, 2048, 5000, 64, 40_000, 16, 70_000, 300, 9000,
];

pub const ALL: [Scene; 22] = [
    Scene {
        name: "allocate a few of many sizes",
        act: |worker, objects| alloc(worker, objects, &MIXED),
        grows: true,
        ..SCENE
    },
    Scene {
        name: "allocate out of pieces",
        before: |worker, objects| {
            (0..4).for_each(|_| alloc(worker, objects, &MIXED));
            free_half(worker, objects);
            worker.flush().unwrap();
        },
        act: |worker, objects| alloc(worker, objects, &MIXED),
        grows: true,
        ..SCENE
    },
    Scene {
        name: "allocate a cache full",
        act: |worker, objects| alloc(worker, objects, &[64; 40]),
        grows: true,
        ..SCENE
    },
    Scene {
        name: "allocate with growth",
        before: |worker, objects| alloc(worker, objects, &[MAX_BLOCK_BYTES as usize]),
        act: |worker, objects| alloc(worker, objects, &[MAX_BLOCK_BYTES as usize; 3]),
        grows: true,
        ..SCENE
    },
    Scene {
        name: "allocate until memory is full",
        before: |worker, objects| alloc(worker, objects, &[1 << 19; 13]),
        act: |worker, objects| alloc(worker, objects, &[200_000, 70_000, 1 << 19, 1 << 18, 64]),
        grows: true,
        ..SCENE
    },
    Scene {
        name: "allocate huge",
        act: |worker, objects| alloc(worker, objects, &[3 << 20, 1 << 20]),
        grows: true,
        ..SCENE
    },
    Scene {
        name: "allocate aligned and zeroed",
        before: |worker, objects| alloc(worker, objects, &[16, 5000]),
        act: |worker, objects| {
            for (size, alignment) in [(16, 4096), (100, 1 << 16), (8, 1 << 20)] {
                keep(objects, worker.alloc_aligned(size, alignment), size);
            }
            for size in [64, 5000, 2 << 20] {
                if let Ok(pointer) = worker.alloc_zeroed(size) {
                    // SAFETY: just allocated, and of that size.
                    let bytes = unsafe { std::slice::from_raw_parts(pointer.as_ptr(), size) };
                    assert!(bytes.iter().all(|&byte| byte == 0));
                    keep(objects, Ok(pointer), size);
                }
            }
        },
        grows: true,
        ..SCENE
    },
    Scene {
        name: "free into the cache and spill",
        before: |worker, objects| alloc(worker, objects, &[64; 40]),
        act: free_all,
        ..SCENE
    },
    Scene {
        name: "spill to the heap",
        before: |worker, objects| alloc(worker, objects, &[64; 130]),
        act: free_all,
        ..SCENE
    },
    Scene {
        name: "refill from the transfer cache",
        before: |worker, objects| {
            alloc(worker, objects, &[64; 40]);
            free_all(worker, objects);
            worker.flush().unwrap();
        },
        act: |worker, objects| alloc(worker, objects, &[64; 20]),
        ..SCENE
    },
    Scene {
        name: "free to the heap and merge",
        before: |worker, objects| {
            alloc(
                worker,
                objects,
                &[5000, 9000, 5000, 40_000, 5000, 5000, 70_000],
            );
        },
        act: free_all,
        ..SCENE
    },
    Scene {
        name: "free in pieces",
        before: |worker, objects| alloc(worker, objects, &[5000; 8]),
        act: |worker, objects| {
            free_half(worker, objects);
            free_all(worker, objects);
        },
        ..SCENE
    },
    Scene {
        name: "free huge",
        before: |worker, objects| alloc(worker, objects, &[3 << 20, 1 << 20]),
        act: free_all,
        ..SCENE
    },
    Scene {
        name: "free the last of a chunk",
        before: |worker, objects| alloc(worker, objects, &[1 << 19; 4]),
        act: free_all,
        ..SCENE
    },
    Scene {
        name: "resize in place",
        before: |worker, objects| {
            for size in [5000, 100_000, 3 << 20] {
                let object = Object::alloc(worker, size, 1, Extent::Whole);
                objects.extend(object);
            }
        },
        act: |worker, objects| {
            for size in [30_000, 20_000, 1 << 20] {
                let mut object = objects.remove(0);
                object.realloc(worker, size, 2).unwrap();
                objects.push(object);
            }
        },
        // One that moves is in two places until it is copied.
        in_flight: 2,
        grows: true,
        ..SCENE
    },
    Scene {
        name: "allocate and free in bulk",
        before: |worker, objects| alloc(worker, objects, &[64; 8]),
        act: |worker, objects| {
            let mut out = [std::ptr::null_mut(); 8];
            worker.alloc_bulk(100, 3, &mut out).unwrap();
            let kept: Vec<_> = objects.drain(..).map(|object| object.pointer()).collect();
            let all: Vec<_> = kept.into_iter().chain(out).collect();
            assert_eq!(worker.free_bulk(&all, |_, error| panic!("{error}")), 16);
        },
        in_flight: 16,
        ..SCENE
    },
    Scene {
        name: "reserve and flush",
        before: |worker, objects| alloc(worker, objects, &[64, 64, 2048]),
        act: |worker, _| {
            let _not_cached_by_all = worker.reserve(64, 4);
            let _not_cached_by_all = worker.reserve(2048, 3);
            worker.flush().unwrap();
        },
        ..SCENE
    },
    Scene {
        name: "flush what is cached",
        before: |worker, objects| {
            alloc(worker, objects, &MIXED);
            free_all(worker, objects);
        },
        act: |worker, _| worker.flush().unwrap(),
        ..SCENE
    },
    Scene {
        name: "defer",
        before: |worker, objects| alloc(worker, objects, &[5000, 9000, 2 << 20, 5000]),
        act: |worker, objects| {
            while let Some(object) = objects.pop() {
                assert_eq!(worker.free_nowait(object.pointer()), Ok(()));
            }
        },
        locked: true,
        ..SCENE
    },
    Scene {
        name: "allocate while the heap is locked",
        before: |worker, objects| {
            alloc(worker, objects, &[64; 40]);
            free_all(worker, objects);
            alloc(worker, objects, &[64; 16]);
        },
        act: |worker, objects| {
            for _ in 0..20 {
                keep(objects, worker.alloc_nowait(64), 64);
            }
        },
        locked: true,
        ..SCENE
    },
    Scene {
        name: "attach and detach",
        before: |worker, objects| alloc(worker, objects, &[64, 200]),
        act: |worker, objects| {
            free_all(worker, objects);
            let arena = super::play::arena_of(worker);
            let first = std::mem::ManuallyDrop::new(arena.attach().unwrap());
            let second = std::mem::ManuallyDrop::new(arena.attach().unwrap());
            alloc(&first, objects, &[64, 64]);
            free_all(&second, objects);
            for other in [first, second] {
                let other = std::mem::ManuallyDrop::into_inner(other);
                assert!(other.detach().is_ok());
            }
        },
        ..SCENE
    },
    Scene {
        name: "grow and verify",
        act: |worker, _| {
            let arena = super::play::arena_of(worker);
            assert_eq!(arena.grow(2), Ok(2));
            arena.verify().unwrap();
        },
        grows: true,
        ..SCENE
    },
];
