//! Pages of the memory for heaps that live for one round: what one heap had, the next takes. They
//! are given out lowest address first, so a heap that grows usually finds its last pages continued.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a page of WebAssembly.
pub const PAGE: usize = 64 << 10;

/// Pages that no heap has, lowest address first, and no two of them adjacent.
static FREE: Mutex<Vec<Run>> = Mutex::new(Vec::new());

/// Adjacent pages.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Where they begin.
    pub start: usize,
    /// Their bytes.
    pub bytes: usize,
}

impl Run {
    fn end(self) -> usize {
        self.start + self.bytes
    }
}

/// One heap's pages. They are free again when it is dropped.
#[derive(Debug, Default)]
pub struct Pages {
    runs: Vec<Run>,
}

impl Pages {
    /// None yet.
    pub const fn new() -> Self {
        Self { runs: Vec::new() }
    }

    /// At least `bytes` more, aligned to `alignment` and to a page. Not zeroed.
    pub fn take(&mut self, bytes: usize, alignment: usize) -> Option<Run> {
        let bytes = bytes.checked_next_multiple_of(PAGE)?;
        let alignment = alignment.max(PAGE);
        let mut free = free();
        if let Some(run) = cut(&mut free, bytes, alignment) {
            self.runs.push(run);
            return Some(run);
        }
        let more = bytes + (alignment - PAGE);
        let page = core::arch::wasm32::memory_grow::<0>(more / PAGE);
        // The last page of all has an end that no address can name.
        if page == usize::MAX || page + more / PAGE >= 1 << 16 {
            return None;
        }
        put(&mut free, page * PAGE, more);
        let run = cut(&mut free, bytes, alignment)?;
        self.runs.push(run);
        Some(run)
    }

    /// At least `bytes` more that begin at `start`, where a run of this heap ends.
    pub fn extend(&mut self, start: usize, bytes: usize) -> Option<Run> {
        let run = self.take(bytes, PAGE)?;
        if run.start == start {
            return Some(run);
        }
        self.runs.pop();
        put(&mut free(), run.start, run.bytes);
        None
    }

    /// Bytes of all.
    pub fn bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.bytes as u64).sum()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let mut free = free();
        for run in &self.runs {
            put(&mut free, run.start, run.bytes);
        }
    }
}

/// Nothing panics with the lock held.
fn free() -> MutexGuard<'static, Vec<Run>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lowest free pages of that shape.
fn cut(free: &mut Vec<Run>, bytes: usize, alignment: usize) -> Option<Run> {
    let fits = |run: &Run| run.start.next_multiple_of(alignment) + bytes <= run.end();
    let index = free.iter().position(fits)?;
    let run = free.remove(index);
    let start = run.start.next_multiple_of(alignment);
    put(free, run.start, start - run.start);
    put(free, start + bytes, run.end() - start - bytes);
    Some(Run { start, bytes })
}

/// Puts pages among the free ones.
fn put(free: &mut Vec<Run>, start: usize, bytes: usize) {
    if bytes == 0 {
        return;
    }
    let index = free.partition_point(|run| run.start < start);
    free.insert(index, Run { start, bytes });
    if free
        .get(index + 1)
        .is_some_and(|next| next.start == start + bytes)
    {
        free[index].bytes += free.remove(index + 1).bytes;
    }
    if index > 0 && free[index - 1].end() == start {
        free[index - 1].bytes += free.remove(index).bytes;
    }
}
