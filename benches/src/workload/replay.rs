//! Replays of what real programs asked for: alone, or several copies in turn, a step each.
//!
//! Of every object the first and the last bytes are marked, since most are too small for a whole
//! stamp, and checked when it grows and when it is freed. The marks differ by object and by copy.

use std::alloc::Layout;
use std::ptr::NonNull;

use anyhow::{Context, Result, ensure};

use super::{Cycle, Timer, Workload};
use crate::cell::Cell;
use crate::heap::Producer;
use crate::object::{no_memory, refused};
use crate::sizes::ALIGN;
use crate::trace::{Operation, Trace};

/// The work of a round: a trace, and how many copies of it each producer interleaves.
pub struct Replay {
    trace: Trace,
    copies: usize,
}

impl Replay {
    /// Of the cell's trace.
    pub fn new(cell: &Cell) -> Result<Self> {
        let trace = cell.trace.context("which trace to replay")?;
        Ok(Self {
            trace: Trace::read(trace)?,
            copies: cell.allocs,
        })
    }
}

impl Workload for Replay {
    type Cycle<'a> = Copies<'a>;

    const PHASES: bool = false;
    const COUNTED: bool = true;

    fn cycle(&self, owner: u32) -> Copies<'_> {
        let copy = |index| Copy {
            number: owner * self.copies as u32 + index as u32,
            objects: vec![None; self.trace.ids],
        };
        Copies {
            trace: &self.trace,
            copies: (0..self.copies).map(copy).collect(),
        }
    }

    fn drain<P: Producer>(&self, _producer: &mut P) -> Result<()> {
        Ok(())
    }
}

/// One producer's part.
pub struct Copies<'a> {
    trace: &'a Trace,
    copies: Vec<Copy>,
}

/// A program that is replayed: its objects by id.
struct Copy {
    number: u32,
    objects: Vec<Option<(NonNull<u8>, Layout)>>,
}

impl Cycle for Copies<'_> {
    fn pairs(&self) -> usize {
        self.trace.allocations * self.copies.len()
    }

    /// The whole trace in all copies. A realloc belongs to its object's pair.
    fn run<P: Producer>(&mut self, producer: &mut P, timer: &mut impl Timer) -> Result<usize> {
        for step in &self.trace.steps {
            for copy in &mut self.copies {
                copy.step(producer, timer, step.id, step.operation)?;
            }
        }
        // What the program never freed.
        for copy in &mut self.copies {
            for id in 0..copy.objects.len() {
                if copy.objects[id].is_some() {
                    copy.step(producer, timer, id, Operation::Free)?;
                }
            }
        }
        Ok(self.pairs())
    }

    fn end<P: Producer>(&mut self, _producer: &mut P) -> Result<()> {
        Ok(())
    }
}

impl Copy {
    #[inline(always)]
    fn step<P: Producer>(
        &mut self,
        producer: &mut P,
        timer: &mut impl Timer,
        id: usize,
        operation: Operation,
    ) -> Result<()> {
        let mark = (id as u32).wrapping_mul(31).wrapping_add(self.number) as u8 | 1;
        let held = &mut self.objects[id];
        match operation {
            Operation::Alloc(size) => {
                let layout = Layout::from_size_align(size.max(1), ALIGN)?;
                timer.live(layout.size() as i64);
                let object = producer.alloc(layout).ok_or_else(|| no_memory(size))?;
                *held = Some(marked(object, layout, mark));
            }
            Operation::Zeroed(size) => {
                let layout = Layout::from_size_align(size.max(1), ALIGN)?;
                timer.live(layout.size() as i64);
                let object = producer.alloc_zeroed(layout);
                let object = object.ok_or_else(|| no_memory(size))?;
                check(object, layout, 0)?;
                *held = Some(marked(object, layout, mark));
            }
            Operation::Aligned(size, alignment) => {
                let layout = Layout::from_size_align(size.max(1), alignment.max(ALIGN))?;
                timer.live(layout.size() as i64);
                let object = producer.alloc(layout).ok_or_else(|| no_memory(size))?;
                ensure!(
                    object.addr().get().is_multiple_of(alignment),
                    "the object at {object:p} is not aligned to {alignment:#x}"
                );
                *held = Some(marked(object, layout, mark));
            }
            Operation::Realloc(size) => {
                let (object, layout) = held.take().context("a realloc of no object")?;
                check(object, layout, mark)?;
                let grown = Layout::from_size_align(size.max(1), layout.align())?;
                timer.live(grown.size() as i64 - layout.size() as i64);
                // SAFETY: an object of this layout, and known only by its new address after.
                let moved = unsafe { producer.realloc(object, layout, grown.size()) };
                let moved = moved.ok_or_else(|| no_memory(size))?;
                // SAFETY: at least a byte of an object of this producer's.
                let first = unsafe { moved.read() };
                ensure!(
                    first == mark,
                    "{object:p} moved to {moved:p} without its bytes"
                );
                *held = Some(marked(moved, grown, mark));
            }
            Operation::Free => {
                let (object, layout) = held.take().context("a free of no object")?;
                check(object, layout, mark)?;
                timer.live(-(layout.size() as i64));
                // SAFETY: allocated with this layout, and forgotten by the line above.
                if !unsafe { producer.free(object, layout) } {
                    return Err(refused(object.cast().as_ptr()));
                }
            }
        }
        Ok(())
    }
}

/// Marks an object's first and last byte.
#[inline(always)]
fn marked(object: NonNull<u8>, layout: Layout, mark: u8) -> (NonNull<u8>, Layout) {
    // SAFETY: both are bytes of this producer's own object.
    unsafe {
        object.write(mark);
        object.add(layout.size() - 1).write(mark);
    }
    (object, layout)
}

/// Whether both bytes are as they should be.
#[inline(always)]
fn check(object: NonNull<u8>, layout: Layout, mark: u8) -> Result<()> {
    // SAFETY: as above.
    let (first, last) = unsafe { (object.read(), object.add(layout.size() - 1).read()) };
    ensure!(
        first == mark && last == mark,
        "the object of {:#x} bytes at {object:p} begins with {first:#x} and ends with {last:#x} \
         instead of {mark:#x}: somebody else was given the same object",
        layout.size()
    );
    Ok(())
}
