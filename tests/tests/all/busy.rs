//! What a context that may not wait meets when others hold the heap: an answer, in bounded time,
//! that loses nothing.

use warena::{AllocError, Arena, Config, Context, FreeError, MAX_BLOCK_BYTES};
use warena_tests::{Extent, GatedSource, Object, arena, prove_idle};

const MEMORY: u64 = 32 << 20;

#[test]
fn a_context_that_may_not_wait_is_told_that_the_heap_is_busy() {
    let source = GatedSource::new(MEMORY);
    let arena = arena(&source, Config::DEFAULT);
    // SAFETY: the address is that of a live arena on this source.
    let hurried = unsafe { Arena::open(&source, arena.address(), Context::NoWait) }.unwrap();
    let worker = hurried.attach().unwrap();
    let large = Object::alloc(&worker, 5000, 1, Extent::Whole).unwrap();
    let small = Object::alloc(&worker, 64, 2, Extent::Whole).unwrap();
    source.shut();
    std::thread::scope(|scope| {
        let holder = scope.spawn(|| {
            let worker = arena.attach().unwrap();
            let objects: Vec<_> = (0..4)
                .map(|index| {
                    let size = MAX_BLOCK_BYTES as usize;
                    Object::alloc(&worker, size, index, Extent::Ends).unwrap()
                })
                .collect();
            objects.into_iter().for_each(|object| object.free(&worker));
        });
        // The other thread now holds the heap lock, in the middle of growing.
        source.wait_for_holder();
        let before = arena.stats();
        assert_eq!(worker.free(large.pointer()), Err(FreeError::Busy));
        assert_eq!(worker.alloc(5000), Err(AllocError::Busy));
        assert!(worker.free_bulk(&[large.pointer()], |_, _| ()).is_err());
        assert!(worker.flush().is_err());
        assert!(hurried.attach().is_err());
        assert_eq!(arena.stats(), before, "a refused call changed something");
        large.check();
        // What the cache can do needs no heap.
        small.free(&worker);
        let small = Object::alloc(&worker, 64, 3, Extent::Whole).unwrap();
        small.free(&worker);
        source.open();
        holder.join().unwrap();
    });
    large.free(&worker);
    drop(worker);
    prove_idle(&arena);
}
