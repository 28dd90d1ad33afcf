//! The workloads, as the seeds define them: what a producer does in one cycle.
//!
//! * **malloc-free**: allocate N objects, chained through their first word; free them all,
//!   newest first.
//! * **malloc-xfree**: allocate N objects the same way; publish the list in a slot that all
//!   producers share, and free the list found there, usually another producer's.
//!
//! Every object carries a stamp made of its address and its owner, checked when it is freed: an
//! object that two producers hold at once has the stamp of only one of them.

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

use anyhow::{Error, Result, anyhow, ensure};

use crate::chunks;
use crate::heap::Producer;

/// What is written into every object.
#[repr(C)]
struct Object {
    next: *mut Object,
    stamp: u32,
}

/// The smallest objects, in bytes, that have room for what is written into them.
pub const LEAST_SIZE: usize = size_of::<Object>();

/// Which workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Each producer frees its own objects.
    MallocFree,
    /// Each producer frees what the previous cycle of any producer allocated.
    MallocXfree,
}

impl Workload {
    /// All of them, in the order of the seeds.
    pub const ALL: [Self; 2] = [Self::MallocFree, Self::MallocXfree];

    /// The name on the command line and in rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::MallocFree => "malloc-free",
            Self::MallocXfree => "malloc-xfree",
        }
    }

    /// The workload of this name.
    pub fn parse(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|known| known.name() == name);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            anyhow!("no benchmark {name:?}; there are {known}, {}", chunks::NAME)
        })
    }
}

/// The slot through which producers hand lists on. Alone on its cache lines.
#[repr(align(128))]
#[derive(Default)]
pub struct Exchange(AtomicPtr<Object>);

/// Times the two phases of a cycle, or does not.
pub trait Timer {
    /// A reading of the clock.
    type Reading;

    /// Reads the clock.
    fn read(&self) -> Self::Reading;

    /// `objects` were allocated since that reading.
    fn allocated(&mut self, since: Self::Reading, objects: usize);

    /// `objects` were freed since that reading.
    fn freed(&mut self, since: Self::Reading, objects: usize);
}

/// Times nothing, and costs nothing.
pub struct Untimed;

impl Timer for Untimed {
    type Reading = ();

    #[inline(always)]
    fn read(&self) {}

    #[inline(always)]
    fn allocated(&mut self, (): (), _objects: usize) {}

    #[inline(always)]
    fn freed(&mut self, (): (), _objects: usize) {}
}

/// What one producer does again and again.
pub struct Cycle<'a> {
    /// Which workload.
    pub workload: Workload,
    /// Objects a cycle.
    pub allocs: usize,
    /// Bytes of each, at least [`LEAST_SIZE`].
    pub size: usize,
    /// The producer's number.
    pub owner: u32,
    /// Shared by the producers of a round.
    pub exchange: &'a Exchange,
}

impl Cycle<'_> {
    /// One cycle.
    #[inline(always)]
    pub fn run<P: Producer>(&self, producer: &mut P, timer: &mut impl Timer) -> Result<()> {
        let since = timer.read();
        let own = self.alloc_list(producer)?;
        timer.allocated(since, self.allocs);
        let list = match self.workload {
            // The list leaves for where the compiler cannot see: it may neither keep the objects
            // in registers nor cancel an allocation against its free.
            Workload::MallocFree => std::hint::black_box(own),
            Workload::MallocXfree => self.exchange.0.swap(own, Ordering::AcqRel),
        };
        if list.is_null() {
            return Ok(());
        }
        let owner = match self.workload {
            Workload::MallocFree => self.owner,
            Workload::MallocXfree => owner_of(list),
        };
        let since = timer.read();
        self.free_list(producer, list, owner)?;
        timer.freed(since, self.allocs);
        Ok(())
    }

    /// Frees the list that the last cycle of a round left in the exchange.
    pub fn drain<P: Producer>(&self, producer: &mut P) -> Result<()> {
        let list = self.exchange.0.swap(ptr::null_mut(), Ordering::AcqRel);
        if list.is_null() {
            return Ok(());
        }
        self.free_list(producer, list, owner_of(list))
    }

    #[inline(always)]
    fn alloc_list<P: Producer>(&self, producer: &mut P) -> Result<*mut Object> {
        let mut head = ptr::null_mut();
        for _ in 0..self.allocs {
            let Some(object) = producer.alloc(self.size) else {
                return Err(no_memory(self.size));
            };
            let object = object.cast::<Object>().as_ptr();
            let stamp = stamp(object, self.owner);
            // SAFETY: a fresh object of at least `LEAST_SIZE` bytes, aligned to 16.
            unsafe { object.write(Object { next: head, stamp }) };
            head = object;
        }
        Ok(head)
    }

    #[inline(always)]
    fn free_list<P: Producer>(
        &self,
        producer: &mut P,
        list: *mut Object,
        owner: u32,
    ) -> Result<()> {
        let mut next = list;
        for freed in 0..self.allocs {
            let Some(object) = NonNull::new(next) else {
                return Err(wrong_length(freed, self.allocs));
            };
            // SAFETY: the objects of a list are allocated, and this producer's since it took
            // the list by an exchange that orders what their owner wrote.
            let found = unsafe { object.read() };
            if found.stamp != stamp(next, owner) {
                return Err(wrong_stamp(next, found.stamp, owner));
            }
            // SAFETY: allocated with this size, and off the list with the next line.
            if !unsafe { producer.free(object.cast(), self.size) } {
                return Err(refused(next));
            }
            next = found.next;
        }
        ensure!(
            next.is_null(),
            "a list holds more than the {} objects allocated",
            self.allocs
        );
        Ok(())
    }
}

/// Says "stamped", and keeps zeroed memory from passing as an object of producer 0.
const MARK: u32 = 0x57a3_b000;

/// The stamp of `owner` in the object at this address.
#[inline(always)]
fn stamp(object: *const Object, owner: u32) -> u32 {
    object as usize as u32 ^ MARK ^ owner
}

/// Whose stamp an object carries.
#[inline(always)]
fn owner_of(object: *const Object) -> u32 {
    // SAFETY: the head of a list that was taken out of the exchange.
    let found = unsafe { (*object).stamp };
    found ^ object as usize as u32 ^ MARK
}

#[cold]
#[inline(never)]
fn no_memory(size: usize) -> Error {
    anyhow!("no memory for an object of {size:#x} bytes")
}

#[cold]
#[inline(never)]
fn wrong_length(freed: usize, allocs: usize) -> Error {
    anyhow!("a list of {allocs} objects ends after {freed}")
}

#[cold]
#[inline(never)]
fn wrong_stamp(object: *const Object, found: u32, owner: u32) -> Error {
    let expected = stamp(object, owner);
    anyhow!(
        "the object at {object:p} carries the stamp {found:#x}, but {expected:#x} is that of its \
         owner, producer {owner}: somebody else was given the same object"
    )
}

#[cold]
#[inline(never)]
fn refused(object: *const Object) -> Error {
    anyhow!("the heap refused to free its object at {object:p}")
}
