//! Larson and Krishnan's server: random objects are replaced by new ones of random sizes, and
//! arrays of them wander from producer to producer, so that most objects are freed by another
//! than their allocator.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use anyhow::Result;

use super::{Cycle, Timer, Workload};
use crate::cell::Cell;
use crate::heap::Producer;
use crate::object::{self, Object, make};
use crate::sizes::{Draw, Random, Sizes, Supply};

/// Objects of an array. A power of two.
const SLOTS: usize = 1024;

/// The objects that live at once in one producer's hands.
struct Array {
    /// Whose stamp they carry: the array's number, whoever works on it.
    owner: u32,
    objects: [*mut Object; SLOTS],
}

/// What the producers of a round share: the place where an array waits for the next of them.
pub struct Larson {
    replacements: usize,
    sizes: Sizes,
    arrays: AtomicU32,
    waiting: AtomicPtr<Array>,
}

impl Larson {
    /// Nobody has an array yet.
    pub fn new(cell: &Cell) -> Self {
        Self {
            replacements: cell.allocs,
            sizes: cell.sizes,
            arrays: AtomicU32::new(0),
            waiting: AtomicPtr::new(ptr::null_mut()),
        }
    }
}

impl Workload for Larson {
    type Cycle<'a> = Replacements<'a>;

    const PHASES: bool = false;

    fn cycle(&self, owner: u32) -> Replacements<'_> {
        Replacements {
            random: Random::new(owner + 1),
            supply: self.sizes.draw(owner),
            array: None,
            shared: self,
        }
    }

    fn drain<P: Producer>(&self, producer: &mut P) -> Result<()> {
        let array = self.waiting.swap(ptr::null_mut(), Ordering::AcqRel);
        if array.is_null() {
            return Ok(());
        }
        // SAFETY: made from a box by `run`, and nobody else's since it was taken out.
        free_array(producer, unsafe { Box::from_raw(array) })
    }
}

/// One producer's part.
pub struct Replacements<'a> {
    random: Random,
    supply: Draw,
    array: Option<Box<Array>>,
    shared: &'a Larson,
}

impl Cycle for Replacements<'_> {
    fn pairs(&self) -> usize {
        self.shared.replacements
    }

    #[inline(always)]
    fn run<P: Producer>(&mut self, producer: &mut P, _timer: &mut impl Timer) -> Result<usize> {
        let mut array = match self.array.take() {
            Some(array) => array,
            None => self.fill(producer)?,
        };
        let owner = array.owner;
        for _ in 0..self.shared.replacements {
            let slot = &mut array.objects[self.random.number() as usize % SLOTS];
            // SAFETY: the objects of an array belong to who has the array, and are allocated.
            let found = unsafe { object::check(*slot, owner) }?;
            // SAFETY: allocated with the size it notes, and replaced with the next line.
            unsafe { object::free(producer, *slot, found.size as usize) }?;
            *slot = make(producer, self.supply.next(), owner, ptr::null_mut())?;
        }
        let next = self
            .shared
            .waiting
            .swap(Box::into_raw(array), Ordering::AcqRel);
        if !next.is_null() {
            // SAFETY: made from a box by whoever left it, and now this producer's alone.
            self.array = Some(unsafe { Box::from_raw(next) });
        }
        Ok(self.shared.replacements)
    }

    fn end<P: Producer>(&mut self, producer: &mut P) -> Result<()> {
        match self.array.take() {
            Some(array) => free_array(producer, array),
            None => Ok(()),
        }
    }
}

impl Replacements<'_> {
    /// A full array, for who has none: at the start, and when the first was left for the others.
    #[cold]
    fn fill<P: Producer>(&mut self, producer: &mut P) -> Result<Box<Array>> {
        let owner = self.shared.arrays.fetch_add(1, Ordering::Relaxed);
        let mut objects = [ptr::null_mut(); SLOTS];
        for slot in &mut objects {
            *slot = make(producer, self.supply.next(), owner, ptr::null_mut())?;
        }
        Ok(Box::new(Array { owner, objects }))
    }
}

fn free_array<P: Producer>(producer: &mut P, array: Box<Array>) -> Result<()> {
    for object in array.objects {
        // SAFETY: as in `run`.
        let found = unsafe { object::check(object, array.owner) }?;
        // SAFETY: allocated with the size it notes, and the array ends here.
        unsafe { object::free(producer, object, found.size as usize) }?;
    }
    Ok(())
}
