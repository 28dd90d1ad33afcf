//! The lock of the central heap and of each transfer cache: one word that carries its owner.
//!
//! | bits | meaning |
//! | --- | --- |
//! | 0–30 | the number of the agent that holds it; 0: nobody |
//! | 31 | somebody may be waiting: the holder wakes one when it lets go |
//!
//! The agent is there so that a lock whose holder has ended can be [taken over](Lock::take_over),
//! and so that an agent which re-enters the allocator while it holds the lock, from a chunk source
//! say, is told [`Busy`] instead of waiting for itself: by whichever worker or handle it comes, since
//! nobody else ever writes its number. How long anybody else tries is its [`Patience`]; trying and
//! taking return the same thing.
//!
//! **Ordering.** Taking is an acquire of the word, letting go a release of it, so all that one
//! holder wrote is visible to the next. No waiter is lost: whoever is about to wait has set bit
//! 31 in the very value that it waits on, so a release after that sees the bit and wakes, and a
//! release before it changes the word, on which the wait returns at once. Who wakes takes the
//! lock with bit 31 set, since others may still wait. What is lost is a wake that went to an agent
//! which was being terminated: whoever reaps it [wakes all](Lock::wake_all).
//!
//! **Taking over.** Only the word of an agent that has ended is replaced, by one exchange, which one
//! heir wins; it keeps bit 31. All that the dead agent wrote is visible to whoever learned of its
//! end, since the end of a thread is ordered before the news of it.

use crate::agent::Agent;
use crate::error::Busy;
use crate::sync::{AtomicU32, Ordering};

const WAITERS: u32 = 1 << 31;

/// Tries before a worker waits: longer than a heap operation of another core, far shorter than a
/// sleep and a wake.
const SPINS_BEFORE_WAIT: u32 = if cfg!(loom) { 1 } else { 128 };

/// Tries before a context that may not wait gives up. About ten milliseconds: longer than the
/// scheduler keeps a holder away from a core that others want too.
const SPINS_WITHOUT_WAIT: u32 = if cfg!(loom) { 2 } else { 1 << 20 };

/// Whether the calling agent may sleep for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// A Web Worker, a Node thread, a native thread.
    MayWait,
    /// A page's main thread, an AudioWorklet: a wait there traps or freezes.
    NoWait,
}

/// How long a call tries to take a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Once.
    Try,
    /// For a moment, as long as who may wait does before it sleeps: for work that another path can
    /// do as well.
    Soon,
    /// For a bounded number of tries.
    Spin,
    /// For a moment, and then asleep until it is free.
    Wait,
}

impl From<Context> for Patience {
    fn from(context: Context) -> Self {
        match context {
            Context::MayWait => Self::Wait,
            Context::NoWait => Self::Spin,
        }
    }
}

/// The lock. Zeroed memory is an unlocked one.
#[repr(C)]
pub(crate) struct Lock {
    word: AtomicU32,
    /// Who waits, in a model: loom has no futex, so a mutex and a condition stand for it.
    #[cfg(loom)]
    parked: parking::Parked,
}

impl Lock {
    #[cfg(test)]
    pub(crate) fn new() -> Self {
        Self {
            word: AtomicU32::new(0),
            #[cfg(loom)]
            parked: parking::Parked::default(),
        }
    }

    /// Takes the lock if it is free now. Never waits.
    #[inline]
    pub(crate) fn try_lock(&self, agent: Agent) -> Result<LockGuard<'_>, Busy> {
        // Look before the exchange: a failed exchange would still take the line from its holder.
        if self.word.load(Ordering::Relaxed) != 0 {
            return Err(Busy);
        }
        self.word
            .compare_exchange(0, agent.number(), Ordering::Acquire, Ordering::Relaxed)
            .map(|_| LockGuard { lock: self })
            .map_err(|_| Busy)
    }

    /// Takes the lock, with that much patience.
    #[inline]
    pub(crate) fn lock(&self, agent: Agent, patience: Patience) -> Result<LockGuard<'_>, Busy> {
        self.try_lock(agent)
            .or_else(|Busy| self.lock_slow(agent, patience))
    }

    #[cold]
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    fn spin(&self, agent: Agent, spins: u32) -> Result<LockGuard<'_>, Busy> {
        (0..spins)
            .find_map(|_| {
                parking::relax();
                self.try_lock(agent).ok()
            })
            .ok_or(Busy)
    }

    #[cold]
    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    fn lock_slow(&self, agent: Agent, patience: Patience) -> Result<LockGuard<'_>, Busy> {
        if self.is_held_by(agent) {
            return Err(Busy);
        }
        match patience {
            Patience::Try => Err(Busy),
            Patience::Soon => self.spin(agent, SPINS_BEFORE_WAIT),
            Patience::Spin => self.spin(agent, SPINS_WITHOUT_WAIT),
            Patience::Wait => Ok(self
                .spin(agent, SPINS_BEFORE_WAIT)
                .unwrap_or_else(|Busy| self.wait_and_lock(agent))),
        }
    }

    /// Whether this very agent holds the lock. Its own word is exact: nobody else writes or clears
    /// it. Those that nobody can name cannot be told apart.
    fn is_held_by(&self, agent: Agent) -> bool {
        agent != Agent::UNKNOWN && self.holder() == agent.number()
    }

    /// The number of the agent that holds the lock; 0: nobody.
    pub(crate) fn holder(&self) -> u32 {
        self.word.load(Ordering::Relaxed) & !WAITERS
    }

    /// Takes the lock out of the hands of `dead`, which has ended; `None` if it is not there.
    pub(crate) fn take_over(&self, dead: Agent, heir: Agent) -> Option<LockGuard<'_>> {
        let mut word = self.word.load(Ordering::Relaxed);
        while word & !WAITERS == dead.number() {
            let taken = heir.number() | word & WAITERS;
            match self
                .word
                .compare_exchange(word, taken, Ordering::Acquire, Ordering::Relaxed)
            {
                Ok(_) => return Some(LockGuard { lock: self }),
                // Somebody came to wait, or to take it over.
                Err(found) => word = found,
            }
        }
        None
    }

    /// Wakes everybody who waits, to look again: one of them may be waiting for a wake that a dead
    /// agent got.
    pub(crate) fn wake_all(&self) {
        parking::wake_all(self);
    }

    #[cfg_attr(
        all(target_family = "wasm", target_feature = "atomics"),
        optimize(size)
    )]
    fn wait_and_lock(&self, agent: Agent) -> LockGuard<'_> {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let wanted = if word == 0 {
                agent.number() | WAITERS
            } else {
                word | WAITERS
            };
            if wanted != word
                && let Err(found) =
                    self.word
                        .compare_exchange(word, wanted, Ordering::Acquire, Ordering::Relaxed)
            {
                word = found;
                continue;
            }
            if word == 0 {
                return LockGuard { lock: self };
            }
            parking::wait(self, wanted);
            word = self.word.load(Ordering::Relaxed);
        }
    }

    /// Lets go of the lock, which the caller holds.
    #[inline]
    pub(crate) fn unlock(&self) {
        if self.word.swap(0, Ordering::Release) & WAITERS != 0 {
            parking::wake_one(self);
        }
    }
}

/// Holds the lock; lets go when dropped.
pub(crate) struct LockGuard<'a> {
    lock: &'a Lock,
}

impl Drop for LockGuard<'_> {
    fn drop(&mut self) {
        self.lock.unlock();
    }
}

/// Waiting natively, by the kernel's futex or its like: the `atomic-wait` crate covers them all.
#[cfg(not(any(loom, target_family = "wasm")))]
mod parking {
    use super::Lock;
    pub(super) use core::hint::spin_loop as relax;

    pub(super) fn wait(lock: &Lock, value: u32) {
        atomic_wait::wait(&lock.word, value);
    }

    pub(super) fn wake_one(lock: &Lock) {
        atomic_wait::wake_one(lock.word.as_ptr().cast_const().cast());
    }

    pub(super) fn wake_all(lock: &Lock) {
        atomic_wait::wake_all(lock.word.as_ptr().cast_const().cast());
    }
}

/// Waiting on wasm, in the engine. The build without threads has one worker, which never finds a
/// lock taken.
#[cfg(all(target_family = "wasm", not(loom)))]
mod parking {
    use super::Lock;
    pub(super) use core::hint::spin_loop as relax;

    #[cfg(target_feature = "atomics")]
    pub(super) fn wait(lock: &Lock, value: u32) {
        const FOREVER: i64 = -1;
        #[cfg(feature = "death")]
        crate::death::count_wait();
        // SAFETY: the word is alive and aligned; `Context::MayWait` promised that this agent may
        // wait. All three outcomes (woken, changed, timed out) lead the caller to look again.
        unsafe {
            core::arch::wasm32::memory_atomic_wait32(
                lock.word.as_ptr().cast(),
                value as i32,
                FOREVER,
            );
        }
    }

    pub(super) fn wake_one(lock: &Lock) {
        wake(lock, 1);
    }

    pub(super) fn wake_all(lock: &Lock) {
        wake(lock, u32::MAX);
    }

    #[cfg(target_feature = "atomics")]
    fn wake(lock: &Lock, most: u32) {
        // SAFETY: the word is alive and aligned. Waking is allowed to every agent.
        unsafe {
            core::arch::wasm32::memory_atomic_notify(lock.word.as_ptr().cast(), most);
        }
    }

    #[cfg(not(target_feature = "atomics"))]
    pub(super) fn wait(_: &Lock, _: u32) {}

    #[cfg(not(target_feature = "atomics"))]
    fn wake(_: &Lock, _: u32) {}
}

/// Waiting in a model: compares and sleeps as one step, as a futex does, and sleeps until it is
/// really woken, so a lost wake is a deadlock that loom reports.
#[cfg(loom)]
mod parking {
    use super::{Lock, Ordering};
    use loom::sync::{Condvar, Mutex};
    pub(super) use loom::thread::yield_now as relax;

    #[derive(Default)]
    pub(super) struct Parked {
        mutex: Mutex<()>,
        condition: Condvar,
    }

    pub(super) fn wait(lock: &Lock, value: u32) {
        let guard = lock.parked.mutex.lock().unwrap();
        if lock.word.load(Ordering::Relaxed) == value {
            drop(lock.parked.condition.wait(guard).unwrap());
        }
    }

    pub(super) fn wake_one(lock: &Lock) {
        let _guard = lock.parked.mutex.lock().unwrap();
        lock.parked.condition.notify_one();
    }

    pub(super) fn wake_all(lock: &Lock) {
        let _guard = lock.parked.mutex.lock().unwrap();
        lock.parked.condition.notify_all();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    extern crate std;

    #[test]
    fn a_held_lock_refuses_and_names_its_agent() {
        let lock = Lock::new();
        let guard = lock.try_lock(Agent::numbered(7)).ok();
        assert_eq!(lock.word.load(Ordering::Relaxed), 7);
        assert!(lock.try_lock(Agent::numbered(1)).is_err());
        assert!(lock.lock(Agent::numbered(1), Patience::Spin).is_err());
        assert!(
            lock.lock(Agent::numbered(7), Patience::Wait).is_err(),
            "re-entry"
        );
        drop(guard);
        assert!(lock.lock(Agent::numbered(1), Patience::Spin).is_ok());
        assert_eq!(lock.word.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn only_the_lock_of_the_dead_is_taken_over() {
        let [live, dead, heir] = [1, 2, 3].map(Agent::numbered);
        let lock = Lock::new();
        assert!(lock.take_over(dead, heir).is_none(), "nobody holds it");
        let guard = lock.try_lock(live).ok();
        assert!(lock.take_over(dead, heir).is_none(), "the living hold it");
        drop(guard);
        core::mem::forget(lock.try_lock(dead).ok());
        let inherited = lock.take_over(dead, heir);
        assert!(inherited.is_some() && lock.holder() == heir.number());
        assert!(lock.take_over(dead, live).is_none(), "one heir");
        drop(inherited);
        assert_eq!(lock.holder(), 0);
    }

    #[test]
    fn waiters_all_get_it() {
        const ROUNDS: u32 = 2_000;
        let lock = Lock::new();
        let total = crate::sync::PlainU32::new(0);
        std::thread::scope(|scope| {
            for number in 0..4 {
                let (lock, total) = (&lock, &total);
                scope.spawn(move || {
                    for _ in 0..ROUNDS {
                        let guard = lock.lock(Agent::numbered(number + 1), Patience::Wait);
                        assert!(guard.is_ok());
                        // Long enough that others run out of spins and really wait.
                        (0..300).for_each(|_| core::hint::spin_loop());
                        total.add(1);
                    }
                });
            }
        });
        assert_eq!(total.get(), 4 * ROUNDS);
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::sync::PlainU32;
    use loom::sync::Arc;

    /// Workers of the given patience each take the lock once: no increment is lost, what one
    /// holder wrote with plain stores the next one reads, nobody sleeps for ever, and the word
    /// is 0 at the end.
    fn exclude(patiences: &'static [Patience]) {
        // Three forced switches at any points of the run, on top of those where a thread waits:
        // every order of the handful of steps that two or three holders take.
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let shared = Arc::new((Lock::new(), PlainU32::new(0)));
            let take = |number: u32, patience, shared: &(Lock, PlainU32)| {
                let guard = shared.0.lock(Agent::numbered(number + 1), patience);
                assert!(guard.is_ok() || patience == Patience::Spin);
                guard.map_or(0, |_guard| {
                    shared.1.add(1);
                    1
                })
            };
            let (&first, others) = patiences.split_first().unwrap();
            let others: std::vec::Vec<_> = (1..)
                .zip(others)
                .map(|(number, &patience)| {
                    let shared = shared.clone();
                    loom::thread::spawn(move || take(number, patience, &shared))
                })
                .collect();
            let mut taken = take(0, first, &shared);
            for other in others {
                taken += other.join().unwrap();
            }
            assert_eq!(shared.1.get(), taken);
            assert_eq!(shared.0.word.load(Ordering::Relaxed), 0);
        });
    }

    extern crate std;

    /// The holder has ended. Two heirs race, and two agents of which one waits: one heir gets what
    /// the dead one wrote, the others come after it, and nobody sleeps for ever.
    #[test]
    fn one_heir_and_all_others_after_it() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let shared = Arc::new((Lock::new(), PlainU32::new(0)));
            let [dead, waiter, first, second] = [1, 2, 3, 4].map(Agent::numbered);
            let dying = shared.clone();
            let end = loom::thread::spawn(move || {
                core::mem::forget(dying.0.try_lock(dead).ok());
                dying.1.set(7);
            });
            end.join().unwrap();
            let waiting = shared.clone();
            let waits = loom::thread::spawn(move || {
                let guard = waiting.0.lock(waiter, Patience::Wait);
                assert!(guard.is_ok());
                waiting.1.add(1);
            });
            let heir = move |shared: &(Lock, PlainU32), agent| {
                let guard = shared.0.take_over(dead, agent);
                let inherited = guard.is_some();
                if inherited {
                    assert_eq!(shared.1.get(), 7, "somebody came before the heir");
                    shared.1.add(1);
                }
                drop(guard);
                shared.0.wake_all();
                inherited
            };
            let other = shared.clone();
            let races = loom::thread::spawn(move || heir(&other, second));
            let mine = heir(&shared, first);
            let theirs = races.join().unwrap();
            assert!(mine != theirs, "two heirs or none");
            waits.join().unwrap();
            assert_eq!((shared.1.get(), shared.0.holder()), (9, 0));
        });
    }

    #[test]
    fn two_that_wait() {
        exclude(&[Patience::Wait; 2]);
    }

    #[test]
    fn three_that_wait() {
        exclude(&[Patience::Wait; 3]);
    }

    #[test]
    fn one_that_may_not_wait() {
        exclude(&[Patience::Wait, Patience::Spin]);
    }
}
