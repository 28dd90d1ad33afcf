//! Growing: objects are made half as large again until they have reached a size, as vectors and
//! strings are, several of them in turn. A step is counted as a pair: in the worst case it is an
//! allocation and a free.

use std::ptr::{self, NonNull};

use anyhow::{Context, Result, ensure};

use super::{Cycle, Timer, Workload};
use crate::cell::Cell;
use crate::heap::Producer;
use crate::object::{self, LEAST_SIZE, Object, make, no_memory, sign};
use crate::sizes::layout;

/// The work of a round.
pub struct Growth {
    objects: usize,
    most: usize,
}

impl Growth {
    /// So many objects, up to the size of the cell.
    pub fn new(cell: &Cell) -> Self {
        Self {
            objects: cell.allocs,
            most: cell.sizes.most(),
        }
    }

    /// Steps of one object.
    fn steps(&self) -> usize {
        let mut size = LEAST_SIZE;
        let mut steps = 1;
        while size < self.most {
            size = next(size, self.most);
            steps += 1;
        }
        steps
    }
}

fn next(size: usize, most: usize) -> usize {
    (size + size / 2).min(most)
}

impl Workload for Growth {
    type Cycle<'a> = Growing;

    const PHASES: bool = false;

    fn cycle(&self, owner: u32) -> Growing {
        Growing {
            owner,
            most: self.most,
            pairs: self.objects * self.steps(),
            objects: vec![ptr::null_mut(); self.objects],
        }
    }

    fn drain<P: Producer>(&self, _producer: &mut P) -> Result<()> {
        Ok(())
    }
}

/// One producer's part.
pub struct Growing {
    owner: u32,
    most: usize,
    pairs: usize,
    objects: Vec<*mut Object>,
}

impl Cycle for Growing {
    fn pairs(&self) -> usize {
        self.pairs
    }

    #[inline(always)]
    fn run<P: Producer>(&mut self, producer: &mut P, _timer: &mut impl Timer) -> Result<usize> {
        let mut size = LEAST_SIZE;
        for object in &mut self.objects {
            *object = make(producer, size, self.owner, ptr::null_mut())?;
        }
        while size < self.most {
            let grown = next(size, self.most);
            for object in &mut self.objects {
                *object = grow(producer, *object, self.owner, size, grown)?;
            }
            size = grown;
        }
        for &object in &self.objects {
            // SAFETY: allocated with this size, this producer's, and not used again.
            unsafe { object::free(producer, object, size) }?;
        }
        Ok(self.pairs)
    }

    fn end<P: Producer>(&mut self, _producer: &mut P) -> Result<()> {
        Ok(())
    }
}

/// One step: the object's first bytes and its last must come along.
#[inline(always)]
fn grow<P: Producer>(
    producer: &mut P,
    object: *mut Object,
    owner: u32,
    size: usize,
    grown: usize,
) -> Result<*mut Object> {
    let last = object.cast::<u8>().wrapping_add(size - 1);
    let mark = size as u8;
    if size > LEAST_SIZE {
        // SAFETY: the last byte of this producer's own object, behind its beginning.
        unsafe { last.write(mark) };
    }
    let own = NonNull::new(object.cast::<u8>()).context("an object is never at null")?;
    // SAFETY: an object of this layout, this producer's, and known only by its new address after.
    let Some(moved) = (unsafe { producer.realloc(own, layout(size), grown) }) else {
        return Err(no_memory(grown));
    };
    let place = moved.as_ptr().cast::<Object>();
    // SAFETY: it has more bytes than before, and is this producer's.
    let found = unsafe { place.read() };
    ensure!(
        found.stamp == object::stamp(object, owner) && found.size as usize == size,
        "the object at {object:p} moved to {place:p} without its first bytes"
    );
    if size > LEAST_SIZE {
        // SAFETY: as above.
        let kept = unsafe { moved.as_ptr().add(size - 1).read() };
        ensure!(
            kept == mark,
            "the object at {object:p} moved to {place:p} without its byte {:#x}",
            size - 1
        );
    }
    Ok(sign(moved, grown, owner, ptr::null_mut()))
}
