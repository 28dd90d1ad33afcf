//! A memory: where its addresses start, and how an address becomes a pointer.
//!
//! Everything the allocator stores about memory is an *address*: a byte offset in the memory,
//! 32 bits wide everywhere. On wasm the offset is the pointer; natively it counts from the start
//! of a reserved region. So sixteen cached objects are one cache line on every host, and a
//! chunk's number is the top twelve bits.

/// The start of a memory. Copied freely: nothing at all on wasm, one pointer natively.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    #[cfg(not(target_family = "wasm"))]
    base: core::ptr::NonNull<u8>,
}

// SAFETY: a `Memory` only turns addresses into raw pointers; whoever dereferences them argues
// its own right to do so.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

#[cfg(not(target_family = "wasm"))]
impl Memory {
    /// The memory whose address 0 is at `base`.
    ///
    /// # Safety
    ///
    /// `base` is aligned to [`CHUNK_BYTES`](crate::CHUNK_BYTES), and every address that is later
    /// turned into a pointer lies in the one allocation that starts there.
    pub unsafe fn new(base: core::ptr::NonNull<u8>) -> Self {
        Self { base }
    }

    /// The pointer to `address`.
    #[inline(always)]
    pub fn pointer<T>(self, address: u32) -> *mut T {
        self.base.as_ptr().wrapping_add(address as usize).cast()
    }

    /// The address of `pointer`, or `None` if no memory of 4 GiB from here could hold it.
    #[inline(always)]
    pub fn address<T>(self, pointer: *const T) -> Option<u32> {
        u32::try_from((pointer as usize).wrapping_sub(self.base.as_ptr() as usize)).ok()
    }
}

#[cfg(target_family = "wasm")]
impl Memory {
    /// The linear memory of this module.
    pub const LINEAR: Self = Self {};

    /// The pointer to `address`.
    #[inline(always)]
    pub fn pointer<T>(self, address: u32) -> *mut T {
        core::ptr::with_exposed_provenance_mut(address as usize)
    }

    /// The address of `pointer`: every pointer has one on wasm.
    #[inline(always)]
    pub fn address<T>(self, pointer: *const T) -> Option<u32> {
        Some(pointer as usize as u32)
    }
}

impl Memory {
    /// A shared reference to the `T` at `address`.
    ///
    /// # Safety
    ///
    /// A `T` made only of interior-mutable words lives at `address`, aligned, for all of `'a`.
    #[inline(always)]
    pub(crate) unsafe fn at<'a, T>(self, address: u32) -> &'a T {
        // SAFETY: the caller promises a live, aligned `T` there.
        unsafe { &*self.pointer::<T>(address) }
    }

    /// The `count` values of `T` that start at `address`.
    ///
    /// # Safety
    ///
    /// `count` values of a `T` made only of interior-mutable words live there for all of `'a`.
    #[inline(always)]
    pub(crate) unsafe fn slice<'a, T>(self, address: u32, count: u32) -> &'a [T] {
        // SAFETY: the caller promises `count` live, aligned values of `T` there.
        unsafe { core::slice::from_raw_parts(self.pointer::<T>(address), count as usize) }
    }
}
