//! Cells through which threads hand objects to each other without meeting.

use crate::Object;
use std::sync::Mutex;

/// Cells that hold one object each. Whoever comes by takes what is there and may leave another.
pub struct Exchange {
    cells: Vec<Mutex<Option<Object>>>,
}

impl Exchange {
    /// `count` empty cells.
    pub fn new(count: usize) -> Self {
        Self {
            cells: (0..count).map(|_| Mutex::new(None)).collect(),
        }
    }

    /// Leaves `object` in a cell and takes what was there.
    pub fn swap(&self, cell: usize, object: Option<Object>) -> Option<Object> {
        let mut held = self.cells[cell].lock().expect("no holder of a cell panics");
        std::mem::replace(&mut *held, object)
    }

    /// Cells.
    pub fn cells(&self) -> usize {
        self.cells.len()
    }

    /// Takes out everything that is left.
    pub fn drain(&self) -> impl Iterator<Item = Object> + '_ {
        (0..self.cells()).filter_map(|cell| self.swap(cell, None))
    }
}
