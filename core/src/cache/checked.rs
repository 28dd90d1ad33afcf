//! What a slot has more in checking mode: the stacks in use, the quarantine, and what was found.
//!
//! ```text
//!   free ─▶ poison ─▶ quarantine, first in first out ─▶ is the poison whole? ─▶ stack ─▶ reuse
//! ```
//!
//! The slot's own stacks stay closed in checking mode, as those of an order that is never cached
//! are: a hit finds nothing and a push no room, by the comparisons that every call makes anyway. So
//! every call takes the path behind a hit, where the checks are, and without checking mode they
//! cost nothing. The stacks that are used stand here, and are refilled and spilled like the others.

use super::lifo::{ENTRY_BYTES, Lifo};
use crate::config::{Config, MAX_CACHED_ORDERS};
use crate::damage::{Damage, DamageKind};
use crate::memory::Memory;
use crate::order::{CHUNK_BYTES, CHUNK_ORDER, block_bytes};
use crate::sync::{PlainU32, PlainU64};
use core::sync::atomic::{AtomicBool, Ordering};

/// Whether this program has made or opened an arena in checking mode.
///
/// In a program where no code can, which is one that only has a [`Global`](crate::Global), this is a
/// constant to the linker's optimiser, and all that checking mode needs is left out of the program.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// Notes that there is an arena in checking mode. Before anybody works in it, who learns of it by what
/// orders this too.
pub(crate) fn note_use() {
    IN_USE.store(true, Ordering::Relaxed);
}

/// Whether there may be one; `false` where no slot has a [`Checked`].
#[inline(always)]
pub(crate) fn is_in_use() -> bool {
    IN_USE.load(Ordering::Relaxed)
}

/// The most bytes that a quarantine keeps: two of the largest blocks, so that a few of them do not
/// use a memory up.
const MOST_BYTES: u32 = CHUNK_BYTES;

/// The part. Its arrays follow it: those of the stacks, then the quarantine's.
#[repr(C, align(64))]
pub(crate) struct Checked {
    pub(crate) lifos: [Lifo; MAX_CACHED_ORDERS as usize],
    pub(crate) quarantine: Quarantine,
    /// The object that the worker is freeing, from before it claims it until some place holds it;
    /// or 0.
    pub(crate) claiming: PlainU32,
    /// The same, from when the claim is known to be its own.
    pub(crate) claimed: PlainU32,
    /// The object that is between the quarantine and the place behind it, or 0.
    pub(crate) leaving: PlainU32,
    /// The object that the worker is resizing, or 0: its padding is not all poisoned.
    pub(crate) resizing: PlainU32,
    /// Bytes that were asked for here less those that were freed here. Wraps: what one worker
    /// allocates another frees, so only the sum over all slots means something.
    pub(crate) requested: PlainU64,
    /// Damage found so far.
    pub(crate) damages: PlainU64,
    first: DamageRecord,
}

/// A [`Damage`] as it stands in memory.
#[repr(C)]
struct DamageRecord {
    kind: PlainU32,
    address: PlainU32,
    offset: PlainU32,
    found: PlainU32,
}

/// Freed objects on their way to reuse, in the order in which they were freed: a ring. Only its
/// own worker touches it, but for watchers.
#[repr(C)]
pub(crate) struct Quarantine {
    array: PlainU32,
    capacity: PlainU32,
    /// Where the oldest stands.
    oldest: PlainU32,
    count: PlainU32,
    /// Bytes of their blocks: at most [`MOST_BYTES`].
    bytes: PlainU32,
    /// How many there are of each order.
    pub(crate) objects: [PlainU32; CHUNK_ORDER as usize],
}

impl Checked {
    /// Bytes of the part with its arrays.
    pub(crate) const fn bytes(config: &Config) -> u32 {
        let entries = config.cached_orders * config.capacity + config.quarantine;
        size_of::<Self>() as u32 + entries * ENTRY_BYTES
    }

    /// Makes zeroed memory at `address` such a part.
    pub(crate) fn begin(&self, address: u32, config: &Config) {
        let mut array = address + size_of::<Self>() as u32;
        for lifo in &self.lifos[..config.cached_orders as usize] {
            lifo.begin(array, config.capacity, config.capacity);
            array += config.capacity * ENTRY_BYTES;
        }
        self.quarantine.array.set(array);
        self.quarantine.capacity.set(config.quarantine);
    }

    /// What the worker had claimed, and what it had taken out of the quarantine, and put nowhere yet
    /// when it ended; 0 for neither. An object that it was just claiming is its own if it still counts
    /// as asked for, which `was_requested` says: the winner of a claim clears that first.
    pub(crate) fn claimed(&self, was_requested: impl Fn(u32) -> bool) -> [u32; 2] {
        let claiming = self.claiming.get();
        let won = claiming != 0 && (self.claimed.get() == claiming || was_requested(claiming));
        // For who comes next, if the one who reaps ends too.
        self.claimed.set(if won { claiming } else { 0 });
        [self.claimed.get(), self.leaving.get()]
    }

    /// Notes that the object at `address` has a place where it is found.
    pub(crate) fn let_go(&self, address: u32) {
        if self.claiming.get() == address {
            self.claimed.set(0);
            self.claiming.set(0);
        }
        if self.leaving.get() == address {
            self.leaving.set(0);
        }
    }

    /// Forgets what the quarantine held and the worker was freeing: it is the heap's.
    pub(crate) fn forget(&self) {
        let words = [&self.claiming, &self.claimed, &self.leaving, &self.resizing];
        for word in words {
            word.set(0);
        }
        self.quarantine.clear();
    }

    /// Notes damage; the first one with all that is known of it.
    pub(crate) fn report(&self, damage: Damage) {
        if self.damages.get() == 0 {
            self.first.kind.set(damage.kind as u32);
            self.first.address.set(damage.address);
            self.first.offset.set(damage.offset);
            self.first.found.set(damage.found.into());
        }
        self.damages.add(1);
    }

    /// The first damage that was found.
    pub(crate) fn first_damage(&self) -> Option<Damage> {
        let kind = if self.first.kind.get() == DamageKind::AfterFree as u32 {
            DamageKind::AfterFree
        } else {
            DamageKind::BehindObject
        };
        (self.damages.get() > 0).then(|| Damage {
            kind,
            address: self.first.address.get(),
            offset: self.first.offset.get(),
            found: self.first.found.get() as u8,
        })
    }
}

impl Quarantine {
    /// Adds an object of `order`; `false` when that would be too many objects or bytes.
    pub(crate) fn push(&self, memory: Memory, address: u32, order: u32) -> bool {
        let count = self.count.get();
        let bytes = self.bytes.get() + block_bytes(order);
        if count == self.capacity.get() || bytes > MOST_BYTES {
            return false;
        }
        self.bytes.set(bytes);
        self.entry(memory, count).set(address);
        self.count.set(count + 1);
        self.objects[order as usize].add(1);
        true
    }

    /// The object that has been here longest.
    pub(crate) fn oldest(&self, memory: Memory) -> Option<u32> {
        (self.count.get() > 0).then(|| self.entry(memory, 0).get())
    }

    /// Takes that object, of `order`, out.
    pub(crate) fn drop_oldest(&self, order: u32) {
        let next = self.oldest.get() + 1;
        self.oldest
            .set(if next == self.capacity.get() { 0 } else { next });
        self.count.sub(1);
        self.bytes.sub(block_bytes(order));
        self.objects[order as usize].sub(1);
    }

    /// Makes it empty.
    fn clear(&self) {
        let words = [&self.oldest, &self.count, &self.bytes];
        for word in words.into_iter().chain(&self.objects) {
            word.set(0);
        }
    }

    /// Every object, oldest first.
    pub(crate) fn iter(&self, memory: Memory) -> impl Iterator<Item = u32> + '_ {
        (0..self.count.get()).map(move |index| self.entry(memory, index).get())
    }

    fn entry<'a>(&self, memory: Memory, index: u32) -> &'a PlainU32 {
        let position = self.oldest.get() + index;
        let wrapped = position.checked_sub(self.capacity.get());
        let entry = self.array.get() + wrapped.unwrap_or(position) * ENTRY_BYTES;
        // SAFETY: the ring has `capacity` entries, which live as long as the arena; `oldest` and
        // the index are below that.
        unsafe { memory.at(entry) }
    }
}
