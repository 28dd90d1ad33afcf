//! An allocated object with a stamp in its bytes: whoever else writes there is found out.

use crate::rng::mix;
use crate::whole_bytes;
use std::ptr::NonNull;
use warena::{AllocError, CHUNK_BYTES, ChunkSource, ReallocError, Worker};

/// Bytes stamped at each end of an object.
const END: usize = 8;

/// How much of an object carries its stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Every byte, for tests of contents.
    Whole,
    /// Eight bytes at the head and eight at the tail, for tests of many operations.
    Ends,
}

/// An object, its size and what its bytes must be. Owned by one thread at a time, and handed to
/// another as any value is.
#[derive(Debug)]
pub struct Object {
    pointer: NonNull<u8>,
    size: usize,
    stamp: u64,
    extent: Extent,
}

// SAFETY: the object is this value's alone, and its bytes are plain.
unsafe impl Send for Object {}

impl Object {
    /// Allocates `size` bytes and stamps them.
    pub fn alloc<S: ChunkSource>(
        worker: &Worker<'_, S>,
        size: usize,
        stamp: u64,
        extent: Extent,
    ) -> Result<Self, AllocError> {
        let pointer = worker.alloc(size)?;
        // SAFETY: the allocation was asked for `size` bytes and is nobody else's.
        Ok(unsafe { Self::adopt(pointer, size, stamp, extent) })
    }

    /// Stamps an object that was allocated by other means.
    ///
    /// # Safety
    ///
    /// `size` bytes at `pointer` are writable, and the caller's to give.
    pub unsafe fn adopt(pointer: NonNull<u8>, size: usize, stamp: u64, extent: Extent) -> Self {
        let block = whole_bytes(size);
        assert_eq!(
            pointer.as_ptr() as usize % block.min(CHUNK_BYTES as usize),
            0,
            "{pointer:p} of {size:#x} bytes is not aligned to its block"
        );
        let object = Self {
            pointer,
            size,
            stamp,
            extent,
        };
        object.each_word(|at, word, count| {
            // SAFETY: within the object.
            unsafe {
                pointer
                    .as_ptr()
                    .add(at)
                    .copy_from_nonoverlapping(word.as_ptr(), count);
            }
        });
        object
    }

    /// Resizes a wholly stamped object, finds what it held in what it is now, and stamps that anew.
    /// On an error the object is as it was.
    pub fn realloc<S: ChunkSource>(
        &mut self,
        worker: &Worker<'_, S>,
        size: usize,
        stamp: u64,
    ) -> Result<(), ReallocError> {
        assert_eq!(self.extent, Extent::Whole);
        let result = worker.realloc(self.pointer(), size);
        if let Ok(pointer) = result {
            self.pointer = pointer;
            self.size = self.size.min(size);
        }
        self.check();
        let pointer = result?;
        // SAFETY: resized to `size` bytes, and this object's alone as before.
        *self = unsafe { Self::adopt(pointer, size, stamp, Extent::Whole) };
        Ok(())
    }

    /// The object's start.
    pub fn pointer(&self) -> *mut u8 {
        self.pointer.as_ptr()
    }

    /// Bytes asked for.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Panics unless the stamp is as it was written, naming the first byte that is not.
    pub fn check(&self) {
        self.each_word(|at, word, count| {
            for (offset, &wanted) in (at..).zip(&word[..count]) {
                // SAFETY: within the object.
                let found = unsafe { self.pointer.as_ptr().add(offset).read() };
                assert_eq!(
                    found,
                    wanted,
                    "byte {offset:#x} of the {size:#x} at {pointer:p}, stamp {stamp:#x}, was \
                     overwritten",
                    size = self.size,
                    pointer = self.pointer,
                    stamp = self.stamp,
                );
            }
        });
    }

    /// Checks the stamp, clears it, so that a second holder of the object would miss it, and
    /// frees the object.
    pub fn free<S: ChunkSource>(self, worker: &Worker<'_, S>) {
        let pointer = self.retire();
        worker.free(pointer).unwrap_or_else(|error| {
            panic!(
                "free of {pointer:p}, {size:#x} bytes: {error}",
                size = self.size
            )
        });
    }

    /// Checks the stamp and clears it: the pointer is the caller's to free.
    pub fn retire(&self) -> *mut u8 {
        self.check();
        self.each_word(|at, _, count| {
            // SAFETY: within the object.
            unsafe { self.pointer.as_ptr().add(at).write_bytes(0, count) };
        });
        self.pointer.as_ptr()
    }

    /// Calls `each` with the offset, the bytes and the length of every stamped word.
    fn each_word(&self, mut each: impl FnMut(usize, [u8; END], usize)) {
        let word = |at: usize| mix(self.stamp ^ mix(at as u64)).to_le_bytes();
        if self.extent == Extent::Ends && self.size >= 2 * END {
            each(0, word(0), END);
            let tail = self.size - END;
            each(tail, word(tail), END);
        } else {
            for at in (0..self.size).step_by(END) {
                each(at, word(at), END.min(self.size - at));
            }
        }
    }
}
