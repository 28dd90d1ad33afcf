//! Lists of objects, as the seeds define them.
//!
//! * **malloc-free**: allocate N objects, chained through their first word; free them all,
//!   newest first.
//! * **malloc-xfree**: allocate N objects the same way; publish the list in a slot that all
//!   producers share, and free the list found there, usually another producer's.
//! * **malloc**, **calloc**: as malloc-free, but the free is not looked at; of zeroed objects
//!   every byte is, before the timed cycles.

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

use anyhow::{Error, Result, anyhow, ensure};

use super::{Cycle, Timer, Workload};
use crate::cell::{Bench, Cell};
use crate::heap::Producer;
use crate::object::{self, Object, no_memory, owner_of, sign};
use crate::sizes::{Draw, Fixed, Sizes, Supply, layout};

/// The slot through which producers hand lists on. Alone on its cache lines.
#[repr(align(128))]
#[derive(Default)]
struct Exchange(AtomicPtr<Object>);

/// The work of a round. `S` is where the sizes come from.
pub struct Lists<S> {
    bench: Bench,
    allocs: usize,
    supply: fn(Sizes, u32) -> S,
    sizes: Sizes,
    exchange: Exchange,
}

impl Lists<Fixed> {
    /// Lists of objects of one size.
    pub fn fixed(cell: &Cell) -> Self {
        Self::new(cell, |sizes, _owner| Fixed(sizes.most()))
    }
}

impl Lists<Draw> {
    /// Lists of objects of many sizes.
    pub fn drawn(cell: &Cell) -> Self {
        Self::new(cell, Sizes::draw)
    }
}

impl<S> Lists<S> {
    fn new(cell: &Cell, supply: fn(Sizes, u32) -> S) -> Self {
        Self {
            bench: cell.bench,
            allocs: cell.allocs,
            supply,
            sizes: cell.sizes,
            exchange: Exchange::default(),
        }
    }
}

impl<S: Supply> Workload for Lists<S> {
    type Cycle<'a>
        = List<'a, S>
    where
        S: 'a;

    const PHASES: bool = true;

    fn cycle(&self, owner: u32) -> List<'_, S> {
        List {
            bench: self.bench,
            allocs: self.allocs,
            owner,
            supply: (self.supply)(self.sizes, owner),
            exchange: &self.exchange,
        }
    }

    fn drain<P: Producer>(&self, producer: &mut P) -> Result<()> {
        let list = self.exchange.0.swap(ptr::null_mut(), Ordering::AcqRel);
        if list.is_null() {
            return Ok(());
        }
        // SAFETY: the list was published by its last owner, who does not use it any more.
        let owner = unsafe { owner_of(list) };
        let mut cycle = self.cycle(owner);
        cycle.free_list(producer, list, owner)
    }
}

/// One producer's part.
pub struct List<'a, S> {
    bench: Bench,
    allocs: usize,
    owner: u32,
    supply: S,
    exchange: &'a Exchange,
}

impl<S: Supply> Cycle for List<'_, S> {
    fn pairs(&self) -> usize {
        self.allocs
    }

    #[inline(always)]
    fn run<P: Producer>(&mut self, producer: &mut P, timer: &mut impl Timer) -> Result<usize> {
        let since = timer.read();
        let own = match self.bench {
            Bench::Calloc => self.alloc_list(producer, P::alloc_zeroed)?,
            _ => self.alloc_list(producer, P::alloc)?,
        };
        timer.allocated(since, self.allocs);
        let (list, owner) = match self.bench {
            Bench::MallocXfree => {
                let list = self.exchange.0.swap(own, Ordering::AcqRel);
                if list.is_null() {
                    return Ok(self.allocs);
                }
                // SAFETY: as in `drain`.
                (list, unsafe { owner_of(list) })
            }
            // The list leaves for where the compiler cannot see: it may neither keep the objects
            // in registers nor cancel an allocation against its free.
            _ => (std::hint::black_box(own), self.owner),
        };
        let since = timer.read();
        self.free_list(producer, list, owner)?;
        if !matches!(self.bench, Bench::Malloc | Bench::Calloc) {
            timer.freed(since, self.allocs);
        }
        Ok(self.allocs)
    }

    fn end<P: Producer>(&mut self, producer: &mut P) -> Result<()> {
        if self.bench == Bench::Calloc {
            self.check_zeroes(producer)?;
        }
        Ok(())
    }
}

impl<S: Supply> List<'_, S> {
    #[inline(always)]
    fn alloc_list<P: Producer>(
        &mut self,
        producer: &mut P,
        alloc: impl Fn(&mut P, std::alloc::Layout) -> Option<NonNull<u8>>,
    ) -> Result<*mut Object> {
        let mut head = ptr::null_mut();
        for _ in 0..self.allocs {
            let size = self.supply.next();
            let Some(object) = alloc(producer, layout(size)) else {
                return Err(no_memory(size));
            };
            head = sign(object, size, self.owner, head);
        }
        Ok(head)
    }

    #[inline(always)]
    fn free_list<P: Producer>(
        &mut self,
        producer: &mut P,
        list: *mut Object,
        owner: u32,
    ) -> Result<()> {
        let mut next = list;
        for freed in 0..self.allocs {
            if next.is_null() {
                return Err(wrong_length(freed, self.allocs));
            }
            // SAFETY: the objects of a list are allocated, and this producer's since it took
            // the list by an exchange that orders what their owner wrote.
            let found = unsafe { object::check(next, owner) }?;
            // SAFETY: allocated with this size, and off the list with the next line.
            unsafe { object::free(producer, next, self.supply.of(found.size)) }?;
            next = found.next;
        }
        ensure!(
            next.is_null(),
            "a list holds more than the {} objects allocated",
            self.allocs
        );
        Ok(())
    }

    /// Writes objects full, frees them, and looks whether zeroed ones are zero. Not in the timed
    /// cycles, where it would be most of the time.
    fn check_zeroes<P: Producer>(&mut self, producer: &mut P) -> Result<()> {
        for round in 0..2 {
            let mut held = Vec::new();
            for _ in 0..self.allocs {
                let size = self.supply.next();
                let object = producer.alloc_zeroed(layout(size));
                held.push((object.ok_or_else(|| no_memory(size))?, size));
            }
            for (object, size) in held {
                // SAFETY: allocated with this size, zeroed, and this producer's.
                let bytes = unsafe { std::slice::from_raw_parts_mut(object.as_ptr(), size) };
                let dirty = bytes.iter().position(|&byte| byte != 0);
                ensure!(
                    dirty.is_none(),
                    "round {round}: a zeroed object of {size:#x} bytes at {object:p} is not zero"
                );
                bytes.fill(0xa5);
                // SAFETY: as above, and not used again.
                unsafe { object::free(producer, object.cast().as_ptr(), size) }?;
            }
        }
        Ok(())
    }
}

#[cold]
#[inline(never)]
fn wrong_length(freed: usize, allocs: usize) -> Error {
    anyhow!("a list of {allocs} objects ends after {freed}")
}
