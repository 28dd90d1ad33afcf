//! The producers' threads: hired once, then given one job after another.
//!
//! On every host a producer is a thread that sits in [`Crew::serve`]: natively a spawned thread,
//! in WebAssembly a worker that was started on the shared memory and called the export. Function
//! pointers and vtables are the same in all of them, so a job is a borrowed closure everywhere.
//!
//! A job that panics ends the process: the producers that wait for it would wait for ever.

use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A job with its lifetime forgotten; [`Crew::run`] says why that is sound.
type Job = &'static (dyn Fn(usize) + Sync);

/// The threads, from the coordinator's side and from theirs.
pub struct Crew {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Counts jobs, so that a producer takes each once.
    shift: u64,
    job: Option<Job>,
    /// The job is for the producers below this number.
    wanted: usize,
    /// Producers that are not yet done with it.
    busy: usize,
    dismissed: bool,
}

impl Crew {
    /// A crew that nobody serves in yet.
    pub const fn new() -> Self {
        Self {
            state: Mutex::new(State {
                shift: 0,
                job: None,
                wanted: 0,
                busy: 0,
                dismissed: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Producer `index` does its part of every job until the crew is dismissed.
    pub fn serve(&self, index: usize) {
        let mut seen = 0;
        let mut state = self.lock();
        while !state.dismissed {
            let job = state.job.filter(|_| state.shift != seen);
            seen = state.shift;
            let Some(job) = job.filter(|_| index < state.wanted) else {
                state = self.wait(state);
                continue;
            };
            drop(state);
            let bomb = Bomb;
            job(index);
            mem::forget(bomb);
            state = self.lock();
            state.busy -= 1;
            self.changed.notify_all();
        }
    }

    /// Has producers 0 to `producers` do a job, each with its number, while the caller does
    /// `meanwhile`. Returns when all of them are done. One job at a time; the producers must
    /// serve, or be about to.
    pub fn run<R>(
        &self,
        producers: usize,
        job: &(dyn Fn(usize) + Sync),
        meanwhile: impl FnOnce() -> R,
    ) -> R {
        // SAFETY: the reference is used by `serve` only between taking it and counting `busy`
        // down, and this call does not end before `busy` is 0: if `meanwhile` panics, the
        // process ends in its stead.
        let job = unsafe { mem::transmute::<&(dyn Fn(usize) + Sync), Job>(job) };
        let mut state = self.lock();
        state.shift += 1;
        state.job = Some(job);
        state.wanted = producers;
        state.busy = producers;
        self.changed.notify_all();
        drop(state);
        let bomb = Bomb;
        let result = meanwhile();
        mem::forget(bomb);
        let mut state = self.lock();
        while state.busy > 0 {
            state = self.wait(state);
        }
        state.job = None;
        result
    }

    /// Ends the service of all producers.
    pub fn dismiss(&self) {
        self.lock().dismissed = true;
        self.changed.notify_all();
    }

    /// Nothing panics while it holds the lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Crew {
    fn default() -> Self {
        Self::new()
    }
}

/// Ends the process when it is dropped, which happens only if a panic unwinds past it. The
/// panic's message is out by then. In WebAssembly a panic traps, and the worker reports it.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// A crew of native threads, for as long as `work` runs.
#[cfg(not(target_family = "wasm"))]
pub fn with_threads<R>(producers: usize, work: impl FnOnce(&Crew) -> R) -> R {
    /// Dismisses also when `work` panics: the scope waits for the threads.
    struct Dismiss<'a>(&'a Crew);

    impl Drop for Dismiss<'_> {
        fn drop(&mut self) {
            self.0.dismiss();
        }
    }

    let crew = Crew::new();
    std::thread::scope(|scope| {
        let dismiss = Dismiss(&crew);
        let serve = |index| {
            let crew = dismiss.0;
            scope.spawn(move || crew.serve(index))
        };
        let threads: Vec<_> = (0..producers).map(serve).collect();
        let result = work(dismiss.0);
        drop(dismiss);
        // The scope would wait for what they do, but not for what ends a thread after that: peers give
        // up its cache there, and crash when the process exits meanwhile.
        for thread in threads {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
        result
    })
}
