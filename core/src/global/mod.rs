//! Warena as a program's `#[global_allocator]`: one heap for the program, or on wasm the memory.
//!
//! ```text
//!   Box::new ─▶ this agent's seat: hit ─────────────────────────────▶ object      inlined
//!                  │ no seat, or no hit
//!                  ▼
//!               seat, taken at the second call ─▶ refill, heap, growth ─▶ object   one cold call
//!                  │ no seat yet, or none any more     │ the heap stays locked
//!                  ▼                                   ▼
//!               standing seat, for this call           another arena
//! ```
//!
//! | file | holds |
//! | --- | --- |
//! | this one | the calls of [`GlobalAlloc`] |
//! | [`seat`] | the calling agent's seat: taken, found, given up |
//! | [`word`] | where an agent keeps its seat's address |
//! | [`standing`] | seats for whoever has none, a call long |
//! | [`arenas`] | the arenas, each made when it is first needed |
//! | [`source`] | the memory |
//!
//! **Who holds a block** does not matter to who frees it: the arena that a pointer belongs to is
//! read off its chunk, and every free is checked as [`Worker::free`](crate::Worker::free) checks it.
//! Sizes that a caller states are never trusted.

mod arenas;
mod seat;
mod source;
mod standing;
mod word;

use crate::config::Config;
use crate::error::{AllocError, FreeError, ReallocError};
use crate::lock::Context;
use crate::worker::Worker;
use core::alloc::{GlobalAlloc, Layout};
use core::ops::Deref;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, Ordering};
use seat::Seated;
use source::{Handle, Source};
use standing::Stand;

/// Alignments up to here make a size larger where they are above it, so that caches serve it.
/// Beyond, memory is dearer than the heap lock.
const CLASS_ALIGNMENT: usize = 2048;

/// The program's heap, for `#[global_allocator]`:
///
/// ```standalone_crate
/// #[global_allocator]
/// static HEAP: warena::Global = warena::Global::new();
///
/// let words = ["any", "allocation"].map(String::from);
/// assert!(warena::Global::arena().unwrap().stats().allocated_bytes > 0);
/// ```
///
/// All values of this type are the same heap; the settings of the one that allocates first hold.
/// Nothing is reserved before that.
///
/// Each thread takes a seat with a cache by itself, and natively gives it up when it ends. On wasm
/// nobody tells: call [`leave`](Self::leave) last thing in a worker. Without it the seat stays
/// taken, with what it caches, until [`Arena::reap_agent`](crate::Arena::reap_agent) frees it. More agents than
/// the settings have seats for are served all the same, in turns.
///
/// On wasm no call waits unless its agent said that it may, by `set_may_wait`. Where the heap stays
/// locked for longer than the agent may spin, an allocation is served by another arena on the same
/// memory, and a free is deferred.
///
/// A `dealloc` of what is no allocated block changes nothing. With debug assertions it stops the
/// program and names the pointer; otherwise it is counted in [`refused`](Self::refused).
pub struct Global {
    config: Config,
    maximum_bytes: u64,
}

/// Frees and resizings that were refused.
static REFUSED: AtomicU32 = AtomicU32::new(0);

/// Frees that found no seat.
static LOST: AtomicU32 = AtomicU32::new(0);

impl Global {
    /// The heap with the default settings.
    pub const fn new() -> Self {
        Self::with(Config::DEFAULT)
    }

    /// The heap with these settings: checked when the program is compiled. There is no checking
    /// mode here: agents without a seat allocate too.
    pub const fn with(config: Config) -> Self {
        assert!(
            config.check().is_ok() && !config.checking,
            "a setting is out of its range, or `checking` is on"
        );
        Self {
            config,
            maximum_bytes: 1 << 32,
        }
    }

    /// The same with at most `bytes` of memory, up to 4 GiB, which is the default. Natively as much
    /// address space is reserved at the first allocation. On wasm the memory's own maximum holds.
    pub const fn maximum_bytes(self, bytes: u64) -> Self {
        Self {
            maximum_bytes: bytes,
            ..self
        }
    }

    /// The arena that serves everybody, for its figures and its proof. `None` before the first
    /// allocation. The handle never waits.
    pub fn arena() -> Option<Handle> {
        Self::arenas().next()
    }

    /// That arena, and behind it those that served agents which found it locked and may not wait.
    pub fn arenas() -> impl Iterator<Item = Handle> {
        arenas::made().map(|arena| arena.handle(Context::NoWait))
    }

    /// Frees and resizings that were refused because the pointer was no allocated block.
    pub fn refused() -> u32 {
        REFUSED.load(Ordering::Relaxed)
    }

    /// Frees that could not even be deferred, so that their blocks stay allocated for good: an agent
    /// without a seat found every standing seat taken for longer than it may spin. It takes eight
    /// agents that died in such a seat, and nobody who reaps them.
    pub fn lost() -> u32 {
        LOST.load(Ordering::Relaxed)
    }

    /// Gives up the calling agent's seat, with all that it caches; whether that was done, which it
    /// is not when the heap stays locked for longer than the agent may spin. The agent may
    /// still allocate and free.
    pub fn leave() -> bool {
        seat::leave()
    }

    /// Says whether the calling agent may wait for a lock: no page's main thread and no worklet
    /// may. Until it is said, no agent waits. An agent that [becomes another](crate::become_agent)
    /// says it again.
    #[cfg(all(target_family = "wasm", target_feature = "atomics"))]
    pub fn set_may_wait(may_wait: bool) {
        seat::set_may_wait(may_wait);
    }

    /// The calling agent's seat, or one to stand in, in the arena that serves everybody.
    fn seat(&self) -> Result<Seat, AllocError> {
        let arena = arenas::at(0, self).ok_or(AllocError::OutOfMemory)?;
        let stand = || arena.stand(word::context()).map(Seat::Standing);
        let own = seat::take(arena).map(Seat::Own);
        own.or_else(stand).ok_or(AllocError::Busy)
    }

    /// A seat in the arena that `pointer` belongs to, or, where that is none, anywhere.
    fn seat_at(&self, pointer: *mut u8) -> Result<Seat, AllocError> {
        let first = arenas::made().next();
        if first.is_none_or(|arena| arena.owns(pointer)) {
            return self.seat();
        }
        match arenas::made().find(|arena| arena.owns(pointer)) {
            Some(arena) => {
                let stand = arena.stand(word::context());
                stand.map(Seat::Standing).ok_or(AllocError::Busy)
            }
            None => self.seat(),
        }
    }

    #[cold]
    #[inline(never)]
    fn alloc_cold(&self, layout: Layout, zeroed: bool) -> *mut u8 {
        match self.seat().and_then(|seat| allocate(&seat, layout, zeroed)) {
            Ok(object) => object.as_ptr(),
            Err(error) => self.alloc_elsewhere(layout, zeroed, error),
        }
    }

    /// An object of another arena, after the first one said `error`. One that is locked for too
    /// long is no reason to fail, so an arena is made where there is none yet; what is out of
    /// memory cannot make one.
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    fn alloc_elsewhere(&self, layout: Layout, zeroed: bool, error: AllocError) -> *mut u8 {
        let mut last = error;
        for index in 1..arenas::MOST {
            let arena = match last {
                AllocError::Busy => arenas::at(index, self),
                AllocError::OutOfMemory => arenas::made().nth(index),
                _ => None,
            };
            let Some(arena) = arena else {
                break;
            };
            let stand = arena.stand(word::context()).ok_or(AllocError::Busy);
            match stand.and_then(|worker| allocate(&worker, layout, zeroed)) {
                Ok(object) => return object.as_ptr(),
                Err(error) => last = error,
            }
        }
        ptr::null_mut()
    }

    #[cold]
    #[inline(never)]
    fn free_cold(&self, pointer: *mut u8) {
        match self.seat_at(pointer) {
            Ok(seat) if seat.try_free(pointer) => {}
            Ok(seat) => refuse(Some(seat), pointer),
            // Without an arena there is no block.
            Err(AllocError::OutOfMemory) => refuse(None, pointer),
            Err(_) => {
                LOST.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Not inlined, so that a program has the code once.
    #[inline(never)]
    fn resize(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let wanted = class(size, layout.align());
        match seat::worker().and_then(|worker| worker.realloc_hit(pointer, wanted)) {
            Some(object) => object.as_ptr(),
            None => self.resize_cold(pointer, layout, size),
        }
    }

    #[cold]
    #[inline(never)]
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    fn resize_cold(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else {
            return ptr::null_mut();
        };
        let Ok(seat) = self.seat_at(pointer) else {
            return ptr::null_mut();
        };
        let error = match seat.realloc_found(pointer, class(size, layout.align())) {
            Some(Ok(object)) => return object.as_ptr(),
            Some(Err(ReallocError::Size(error))) => error,
            Some(Err(ReallocError::Pointer(_))) | None => {
                refuse(Some(seat), pointer);
                return ptr::null_mut();
            }
        };
        let Some(held) = seat.held(pointer) else {
            return ptr::null_mut();
        };
        drop(seat);
        let moved = self.alloc_elsewhere(wanted, false, error);
        if !moved.is_null() {
            // SAFETY: both are allocated blocks of at least that many bytes, and not the same.
            unsafe { moved.copy_from_nonoverlapping(pointer, held.min(size)) };
            self.free_cold(pointer);
        }
        moved
    }
}

/// A seat for the length of a call.
enum Seat {
    Own(Seated),
    Standing(Stand),
}

impl Deref for Seat {
    type Target = Worker<'static, Source>;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Own(worker) => worker,
            Self::Standing(stand) => stand,
        }
    }
}

impl Default for Global {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: objects come from arenas, which give each out once until it is freed, with at least the
// bytes and the alignment that were asked for. No call unwinds: the core has no panic of its own,
// and a refusal stops the program instead. What an allocation returns does not depend on `self`.
unsafe impl GlobalAlloc for Global {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match hit(layout) {
            Some(object) => object.as_ptr(),
            None => self.alloc_cold(layout, false),
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match hit(layout) {
            Some(object) => {
                // SAFETY: just allocated, of at least that many bytes.
                unsafe { object.write_bytes(0, layout.size()) };
                object.as_ptr()
            }
            None => self.alloc_cold(layout, true),
        }
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, _: Layout) {
        if !seat::worker().is_some_and(|worker| worker.push(pointer)) {
            self.free_cold(pointer);
        }
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.resize(pointer, layout, size)
    }
}

/// What a block must hold so that it is aligned too, as each block is to its own size.
#[inline(always)]
const fn class(size: usize, alignment: usize) -> usize {
    (size.wrapping_sub(1) | (alignment - 1)).wrapping_add(1)
}

#[inline(always)]
fn hit(layout: Layout) -> Option<NonNull<u8>> {
    seat::worker()?.hit(class(layout.size(), layout.align()))
}

fn allocate(
    worker: &Worker<'static, Source>,
    layout: Layout,
    zeroed: bool,
) -> Result<NonNull<u8>, AllocError> {
    let (size, alignment) = (layout.size(), layout.align());
    if alignment <= CLASS_ALIGNMENT {
        let class = class(size, alignment);
        return if zeroed {
            worker.alloc_zeroed(class)
        } else {
            worker.missed(class)
        };
    }
    let object = worker.alloc_aligned(size, alignment)?;
    if zeroed {
        // SAFETY: just allocated, of at least that many bytes.
        unsafe { object.write_bytes(0, size) };
    }
    Ok(object)
}

/// Notes that `pointer` is no allocated block, for a caller that cannot be told. What else it is, is
/// found out only where it is told: without debug assertions no program has the code for that.
fn refuse(seat: Option<Seat>, pointer: *mut u8) {
    REFUSED.fetch_add(1, Ordering::Relaxed);
    if cfg!(debug_assertions) {
        let error = seat.map_or(FreeError::Foreign, |seat| seat.refuse(pointer));
        stop(pointer, error);
    }
}

/// Ends the program with a message. An allocator must not unwind, and a function of this calling
/// convention does not. The message may allocate: no lock is held.
extern "C" fn stop(pointer: *mut u8, error: FreeError) -> ! {
    panic!("the global allocator cannot free or resize {pointer:p}: {error}")
}
