//! The limit: a heap that pops and pushes an array of its producer, inlined, and checks nothing.
//!
//! No heap can be faster, so others are read as a multiple of it. It serves one size and a fixed
//! number of objects.

use std::alloc::Layout;
use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, anyhow, ensure};

use crate::heap::{Heap, Producer};

/// Objects that a producer begins with: enough for a list under construction and the one that it
/// may have left to another producer.
const OBJECTS: usize = 2048;

/// The bytes of a unit of memory, and what an object is aligned to.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Unit([u8; 16]);

/// The heap: the memory of all its producers.
pub struct Limit {
    size: usize,
    /// Most producers that can ever join, counting one for the coordinator.
    seats: usize,
    memory: Mutex<Vec<Box<[Unit]>>>,
    /// Objects on the stacks of the producers that left.
    returned: AtomicUsize,
}

impl Limit {
    /// A heap of objects of `size` bytes for `seats` joins.
    pub fn new(size: usize, seats: usize) -> Self {
        Self {
            size,
            seats,
            memory: Mutex::default(),
            returned: AtomicUsize::new(0),
        }
    }
}

impl Heap for Limit {
    type Producer<'a> = Stack<'a>;

    fn join(&self) -> Result<Stack<'_>> {
        let mut memory = self.memory.lock().map_err(|error| anyhow!("{error}"))?;
        ensure!(
            memory.len() < self.seats,
            "more than {} producers joined",
            self.seats
        );
        let units = self.size.div_ceil(size_of::<Unit>());
        let mut objects = vec![Unit([0; 16]); units * OBJECTS].into_boxed_slice();
        let first = objects.as_mut_ptr();
        memory.push(objects);
        // Room for all objects that there can ever be, whoever frees them, behind the null that
        // ends the stack: so a push needs no check.
        let mut entries = vec![ptr::null_mut(); 1 + OBJECTS * self.seats].into_boxed_slice();
        for (index, entry) in entries[1..=OBJECTS].iter_mut().enumerate() {
            *entry = first.wrapping_add(index * units).cast();
        }
        let top = Cell::new(&raw mut entries[OBJECTS]);
        Ok(Stack {
            heap: self,
            entries,
            top,
        })
    }

    fn peak_grown(&self) -> Option<u64> {
        None
    }

    fn finish(self) -> Result<()> {
        let joined = self.memory.lock().map_err(|error| anyhow!("{error}"))?;
        let (made, returned) = (
            joined.len() * OBJECTS,
            self.returned.load(Ordering::Relaxed),
        );
        ensure!(
            made == returned,
            "of {made} objects {returned} came back to the limit"
        );
        Ok(())
    }
}

/// One producer's stack of free objects.
pub struct Stack<'a> {
    heap: &'a Limit,
    entries: Box<[*mut u8]>,
    /// The entry on top.
    top: Cell<*mut *mut u8>,
}

impl Stack<'_> {
    /// Volatile, here and in [`Self::set_top`]: the compiler would otherwise keep the top in a
    /// register over a whole phase, or cancel a pop against a push, and what remained would be
    /// no heap at all.
    #[inline(always)]
    fn top(&self) -> *mut *mut u8 {
        // SAFETY: a live, aligned word of this producer's own.
        unsafe { self.top.as_ptr().read_volatile() }
    }

    #[inline(always)]
    fn set_top(&self, top: *mut *mut u8) {
        // SAFETY: as above.
        unsafe { self.top.as_ptr().write_volatile(top) }
    }
}

impl Producer for Stack<'_> {
    #[inline(always)]
    fn alloc(&mut self, _layout: Layout) -> Option<NonNull<u8>> {
        let top = self.top();
        // SAFETY: the top never leaves the array: the null below the objects is not popped.
        let object = NonNull::new(unsafe { top.read() })?;
        self.set_top(top.wrapping_sub(1));
        Some(object)
    }

    #[inline(always)]
    unsafe fn free(&mut self, object: NonNull<u8>, _layout: Layout) -> bool {
        let top = self.top().wrapping_add(1);
        // SAFETY: the array has room for all objects of the heap, and the caller's object is not
        // on any stack.
        unsafe { top.write(object.as_ptr()) };
        self.set_top(top);
        true
    }

    fn leave(self) -> Result<()> {
        let bytes = self.top() as usize - self.entries.as_ptr() as usize;
        self.heap
            .returned
            .fetch_add(bytes / size_of::<*mut u8>(), Ordering::Relaxed);
        Ok(())
    }
}
