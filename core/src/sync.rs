//! The only place that names atomics: `core`'s, or loom's when a model runs.
//!
//! Two kinds of shared word stand here.
//!
//! * Atomics, for words that several workers write: locks, claims, page bits. On wasm every
//!   one of them is sequentially consistent, whatever its `Ordering`, and even a store costs a
//!   locked instruction.
//! * [`PlainU8`], [`PlainU32`], [`PlainU64`], for words that one worker at a time writes, while
//!   watchers may read them at any moment. Who may write is settled elsewhere (a lock, or the
//!   ownership of a slot or of a block), so the access itself orders nothing and costs nothing:
//!   a relaxed load or store natively, a plain one on wasm.
//!
//! Every write of either is a step in the life of its agent: see [`death`](crate::death).

#[cfg(not(any(loom, feature = "death")))]
pub use core::sync::atomic::AtomicU32;
#[cfg(not(loom))]
pub use core::sync::atomic::{Ordering, fence};
#[cfg(loom)]
pub use loom::sync::atomic::{AtomicU32, Ordering, fence};
#[cfg(all(feature = "death", not(loom)))]
pub use mortal::AtomicU32;

macro_rules! plain {
    ($(#[$doc:meta])* $name:ident, $value:ty, $atomic:ident) => {
        $(#[$doc])*
        #[repr(transparent)]
        pub struct $name(cell::$atomic);

        impl $name {
            /// A word outside any arena, as tests make it.
            #[cfg(test)]
            #[allow(dead_code, reason = "not every width is made in tests")]
            pub fn new(value: $value) -> Self {
                Self(cell::$atomic::new(value))
            }

            /// The value, with no ordering against other words.
            #[inline(always)]
            pub fn get(&self) -> $value {
                self.0.read()
            }

            /// Replaces the value. Only the worker that owns the word calls this.
            #[inline(always)]
            pub fn set(&self, value: $value) {
                self.0.write(value)
            }
        }
    };
}

macro_rules! count {
    ($name:ident, $value:ty) => {
        impl $name {
            /// Adds `amount` by a load and a store: only the worker that owns the word may.
            #[inline(always)]
            pub fn add(&self, amount: $value) {
                self.set(self.get().wrapping_add(amount));
            }
        }
    };
}

plain!(
    /// A byte that one worker at a time writes.
    PlainU8,
    u8,
    AtomicU8
);
plain!(
    /// A 32-bit word that one worker at a time writes.
    PlainU32,
    u32,
    AtomicU32
);
plain!(
    /// A 64-bit word that one worker at a time writes: counters.
    PlainU64,
    u64,
    AtomicU64
);
count!(PlainU32, u32);
count!(PlainU64, u64);

/// A 32-bit word that is written before anybody else can find it, and only read from then on. The
/// compiler may leave a read out whose value nobody needs, which it may not with the words above.
#[repr(transparent)]
pub struct SettledU32(core::cell::UnsafeCell<u32>);

// SAFETY: written by one agent while it is the only one that knows of the word, then only read.
unsafe impl Sync for SettledU32 {}

impl SettledU32 {
    /// The value.
    #[inline(always)]
    pub fn get(&self) -> u32 {
        // SAFETY: alive and aligned, being borrowed; nobody writes any more.
        unsafe { *self.0.get() }
    }

    /// Settles the value.
    ///
    /// # Safety
    ///
    /// Nobody else knows of the word yet.
    pub unsafe fn settle(&self, value: u32) {
        // SAFETY: alive and aligned, being borrowed, and the caller's alone.
        unsafe { *self.0.get() = value };
    }
}

impl PlainU8 {
    /// [`set`](Self::set) of a byte of an object's contents, which leads to nothing: no step.
    #[inline]
    pub fn paint(&self, value: u8) {
        self.0.paint(value);
    }

    /// Replaces `current` by `new` in one step, whoever else tries it at the same moment; whether
    /// it was `current`. What the winner of another such step wrote before is visible then.
    pub fn exchange(&self, current: u8, new: u8) -> bool {
        cell::exchange(&self.0, current, new)
    }
}

impl PlainU32 {
    /// Takes `amount` away by a load and a store: only the worker that owns the word may.
    #[inline(always)]
    pub fn sub(&self, amount: u32) {
        self.set(self.get().wrapping_sub(amount));
    }
}

/// A word that can be read and replaced with no ordering.
trait Cell<T> {
    fn read(&self) -> T;
    fn write(&self, value: T);
    fn paint(&self, value: T);
}

#[cfg(not(target_family = "wasm"))]
mod cell {
    use super::{Cell, Ordering};
    use crate::death::step;
    #[cfg(not(loom))]
    pub use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};
    #[cfg(loom)]
    pub use loom::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

    macro_rules! relaxed {
        ($atomic:ident, $value:ty) => {
            impl Cell<$value> for $atomic {
                #[inline(always)]
                fn read(&self) -> $value {
                    self.load(Ordering::Relaxed)
                }

                #[inline(always)]
                fn write(&self, value: $value) {
                    if step() {
                        self.paint(value)
                    }
                }

                #[inline(always)]
                fn paint(&self, value: $value) {
                    self.store(value, Ordering::Relaxed)
                }
            }
        };
    }
    relaxed!(AtomicU8, u8);
    relaxed!(AtomicU32, u32);
    relaxed!(AtomicU64, u64);

    pub fn exchange(cell: &AtomicU8, current: u8, new: u8) -> bool {
        step()
            && cell
                .compare_exchange(current, new, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
    }
}

/// On wasm a relaxed store would be a locked exchange, so the cells are volatile memory. Racing
/// readers are other agents of the same memory, whose plain accesses the WebAssembly memory
/// model defines; a volatile access keeps the compiler from assuming that there are none.
#[cfg(target_family = "wasm")]
mod cell {
    use super::{Cell, Ordering};
    use crate::death::step;
    use core::cell::UnsafeCell;

    macro_rules! volatile {
        ($name:ident, $value:ty) => {
            #[repr(transparent)]
            pub struct $name(UnsafeCell<$value>);

            // SAFETY: accesses are single loads and stores of one aligned word, which the
            // WebAssembly memory model gives a meaning for any number of agents at once.
            unsafe impl Sync for $name {}

            impl Cell<$value> for $name {
                #[inline(always)]
                fn read(&self) -> $value {
                    // SAFETY: the word is alive and aligned, being borrowed.
                    unsafe { self.0.get().read_volatile() }
                }

                #[inline(always)]
                fn write(&self, value: $value) {
                    if step() {
                        self.paint(value)
                    }
                }

                #[inline(always)]
                fn paint(&self, value: $value) {
                    // SAFETY: as above; the caller owns the word, so no other agent writes now.
                    unsafe { self.0.get().write_volatile(value) }
                }
            }

            #[cfg(test)]
            impl $name {
                pub fn new(value: $value) -> Self {
                    Self(UnsafeCell::new(value))
                }
            }
        };
    }
    volatile!(AtomicU8, u8);
    volatile!(AtomicU32, u32);
    volatile!(AtomicU64, u64);

    pub fn exchange(cell: &AtomicU8, current: u8, new: u8) -> bool {
        // SAFETY: the byte is alive, being borrowed; mixing this with plain accesses of other
        // agents is defined by the WebAssembly memory model.
        let byte = unsafe { core::sync::atomic::AtomicU8::from_ptr(cell.0.get()) };
        step()
            && byte
                .compare_exchange(current, new, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
    }
}

/// Atomics whose writes are steps.
#[cfg(all(feature = "death", not(loom)))]
mod mortal {
    use super::Ordering;
    use crate::death::step;
    use core::ops::Deref;
    use core::sync::atomic::AtomicU32 as Word;

    /// A word that several workers write.
    #[repr(transparent)]
    pub struct AtomicU32(Word);

    impl AtomicU32 {
        pub const fn new(value: u32) -> Self {
            Self(Word::new(value))
        }

        pub fn store(&self, value: u32, order: Ordering) {
            if step() {
                self.0.store(value, order);
            }
        }

        pub fn swap(&self, value: u32, order: Ordering) -> u32 {
            if step() { self.0.swap(value, order) } else { 0 }
        }

        pub fn fetch_or(&self, bits: u32, order: Ordering) -> u32 {
            if step() {
                self.0.fetch_or(bits, order)
            } else {
                0
            }
        }

        pub fn compare_exchange(
            &self,
            current: u32,
            new: u32,
            success: Ordering,
            failure: Ordering,
        ) -> Result<u32, u32> {
            if step() {
                self.0.compare_exchange(current, new, success, failure)
            } else {
                Err(self.0.load(failure))
            }
        }
    }

    /// Reading is no step.
    impl Deref for AtomicU32 {
        type Target = Word;

        fn deref(&self) -> &Word {
            &self.0
        }
    }
}
