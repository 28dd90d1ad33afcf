//! The free blocks of each order: doubly linked through the blocks themselves, with one bit an
//! order that says whether its list holds any.
//!
//! ```text
//!  occupied  …0010 0100          heads[2] ─▶ block ⇄ block ⇄ block ─▶ 0
//!               │    └ order 2   heads[5] ─▶ block ─▶ 0
//!               └ order 5
//! ```
//!
//! Finding a block of an order or above is one mask and one count of trailing zeros, whatever the
//! number of chunks: lists are the arena's, not a chunk's. Everything here is under the heap lock.

use crate::memory::Memory;
use crate::order::CHUNK_ORDER;
use crate::sync::PlainU32;

const ORDERS: usize = CHUNK_ORDER as usize;

/// The links that a free block holds in its first eight bytes. Address 0 ends a list.
#[repr(C)]
pub(crate) struct FreeNode {
    pub(crate) next: PlainU32,
    pub(crate) previous: PlainU32,
}

/// The lists. Zeroed memory is sixteen empty ones.
#[repr(C)]
pub(crate) struct FreeLists {
    /// Bit k: the list of order k is not empty.
    occupied: PlainU32,
    heads: [PlainU32; ORDERS],
}

impl FreeLists {
    /// The smallest order, `order` or above, that has a free block.
    #[inline]
    pub(crate) fn first_at_least(&self, order: u32) -> Option<u32> {
        let candidates = self.occupied.get() & (u32::MAX << order);
        (candidates != 0).then(|| candidates.trailing_zeros())
    }

    /// The largest order that has a free block.
    pub(crate) fn largest(&self) -> Option<u32> {
        self.occupied.get().checked_ilog2()
    }

    /// Forgets every block: the lists are made anew.
    pub(crate) fn clear(&self) {
        self.occupied.set(0);
        self.heads.iter().for_each(|head| head.set(0));
    }

    /// The first block of `order`, or 0.
    #[inline]
    pub(crate) fn head(&self, order: u32) -> u32 {
        self.head_of(order).get()
    }

    /// Orders are below the number of lists; the remainder leaves out the code, and the message, for
    /// one that is not.
    #[inline]
    fn head_of(&self, order: u32) -> &PlainU32 {
        debug_assert!(order < CHUNK_ORDER);
        &self.heads[order as usize % ORDERS]
    }

    /// Puts the block at `address` first on its list.
    ///
    /// # Safety
    ///
    /// The heap lock is held, and the block is free, of `order`, on no list.
    pub(crate) unsafe fn push(&self, memory: Memory, order: u32, address: u32) {
        let head = self.head_of(order);
        let next = head.get();
        // SAFETY: a free block is the heap's to write, and at least 16 bytes.
        let node = unsafe { memory.at::<FreeNode>(address) };
        node.next.set(next);
        node.previous.set(0);
        if next != 0 {
            // SAFETY: a block on a list is free.
            unsafe { memory.at::<FreeNode>(next) }.previous.set(address);
        }
        head.set(address);
        self.occupied.set(self.occupied.get() | 1 << order);
    }

    /// Takes the block at `address` off its list.
    ///
    /// # Safety
    ///
    /// The heap lock is held, and the block is on the list of `order`.
    pub(crate) unsafe fn remove(&self, memory: Memory, order: u32, address: u32) {
        // SAFETY: a block on a list is free, and so are its neighbours there.
        unsafe {
            let node = memory.at::<FreeNode>(address);
            let (next, previous) = (node.next.get(), node.previous.get());
            if next != 0 {
                memory.at::<FreeNode>(next).previous.set(previous);
            }
            if previous != 0 {
                memory.at::<FreeNode>(previous).next.set(next);
                return;
            }
            self.head_of(order).set(next);
            if next == 0 {
                self.occupied.set(self.occupied.get() & !(1 << order));
            }
        }
    }
}
