//! Producers and consumers: even ones only allocate, odd ones only free.
//!
//! Lists of objects go through a queue that holds a few of them. Who finds it full or empty waits
//! a moment, and then comes back without having done anything, so that nobody waits for a partner
//! who has stopped.

use std::ptr;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};

use super::{Cycle, Timer, Workload};
use crate::cell::Cell;
use crate::heap::Producer;
use crate::object::{self, Object, make, owner_of};
use crate::sizes::{Draw, Sizes, Supply};

/// Lists that wait for a consumer, at most.
const QUEUED: usize = 64;
/// How long one waits for a partner before one looks up.
const PATIENCE: Duration = Duration::from_millis(1);

/// The queue between them.
pub struct ProdCon {
    allocs: usize,
    sizes: Sizes,
    lists: Mutex<Vec<List>>,
    changed: Condvar,
}

/// A list on its way.
struct List(*mut Object);

// SAFETY: whoever takes a list out of the queue is the only one who uses its objects.
unsafe impl Send for List {}

impl ProdCon {
    /// An empty queue.
    pub fn new(cell: &Cell) -> Self {
        Self {
            allocs: cell.allocs,
            sizes: cell.sizes,
            lists: Mutex::new(Vec::with_capacity(QUEUED)),
            changed: Condvar::new(),
        }
    }

    /// Gives `list` away, or back if there is no room.
    fn put(&self, list: List) -> Option<List> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if lists.len() >= QUEUED {
            let waited = self.changed.wait_timeout(lists, PATIENCE);
            lists = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if lists.len() >= QUEUED {
            return Some(list);
        }
        lists.push(list);
        let was_empty = lists.len() == 1;
        drop(lists);
        if was_empty {
            self.changed.notify_all();
        }
        None
    }

    /// A list, if there is one.
    fn take(&self) -> Option<List> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if lists.is_empty() {
            let waited = self.changed.wait_timeout(lists, PATIENCE);
            lists = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let was_full = lists.len() >= QUEUED;
        let list = lists.pop();
        drop(lists);
        if was_full {
            self.changed.notify_all();
        }
        list
    }
}

impl Workload for ProdCon {
    type Cycle<'a> = Part<'a>;

    const PHASES: bool = false;

    fn cycle(&self, owner: u32) -> Part<'_> {
        Part {
            owner,
            supply: self.sizes.draw(owner),
            held: ptr::null_mut(),
            shared: self,
        }
    }

    fn drain<P: Producer>(&self, producer: &mut P) -> Result<()> {
        while let Some(List(list)) = self.take() {
            free_list(producer, list, self.allocs)?;
        }
        Ok(())
    }
}

/// One producer's, or consumer's, part.
pub struct Part<'a> {
    owner: u32,
    supply: Draw,
    /// A list that found no room yet.
    held: *mut Object,
    shared: &'a ProdCon,
}

impl Cycle for Part<'_> {
    fn pairs(&self) -> usize {
        self.shared.allocs
    }

    /// Consumers count the pairs: what they free was allocated.
    #[inline(always)]
    fn run<P: Producer>(&mut self, producer: &mut P, _timer: &mut impl Timer) -> Result<usize> {
        if !self.owner.is_multiple_of(2) {
            let Some(List(list)) = self.shared.take() else {
                return Ok(0);
            };
            return free_list(producer, list, self.shared.allocs);
        }
        if self.held.is_null() {
            for _ in 0..self.shared.allocs {
                self.held = make(producer, self.supply.next(), self.owner, self.held)?;
            }
        }
        let back = self.shared.put(List(self.held));
        self.held = back.map_or(ptr::null_mut(), |List(list)| list);
        Ok(0)
    }

    fn end<P: Producer>(&mut self, producer: &mut P) -> Result<()> {
        let held = std::mem::replace(&mut self.held, ptr::null_mut());
        free_list(producer, held, self.shared.allocs)?;
        Ok(())
    }
}

/// Frees a list of `allocs` objects, or none; how many it had.
#[inline(always)]
fn free_list<P: Producer>(producer: &mut P, list: *mut Object, allocs: usize) -> Result<usize> {
    if list.is_null() {
        return Ok(0);
    }
    // SAFETY: the list is the caller's, out of the queue or not yet in it.
    let owner = unsafe { owner_of(list) };
    let mut next = list;
    for freed in 0..allocs {
        ensure!(
            !next.is_null(),
            "a list of {allocs} objects ends after {freed}"
        );
        // SAFETY: an object of the caller's list, which is allocated.
        let found = unsafe { object::check(next, owner) }?;
        // SAFETY: allocated with the size it notes, and off the list with the next line.
        unsafe { object::free(producer, next, found.size as usize) }?;
        next = found.next;
    }
    ensure!(
        next.is_null(),
        "a list holds more than the {allocs} objects allocated"
    );
    Ok(allocs)
}
