//! Time: of a thread as the wall shows it, and of the whole process as processors spent it.

use serde::{Deserialize, Serialize};

pub use platform::{cpu_ns, now_ns, sleep};

#[cfg(not(target_family = "wasm"))]
mod platform {
    use std::sync::OnceLock;
    use std::time::Instant;

    pub use std::thread::sleep;

    /// Nanoseconds since some moment, the same for all threads.
    #[inline]
    pub fn now_ns() -> u64 {
        static EPOCH: OnceLock<Instant> = OnceLock::new();
        EPOCH.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }

    /// Nanoseconds that all threads of the process have spent on processors, user and system.
    pub fn cpu_ns() -> Option<u64> {
        // SAFETY: `rusage` is plain numbers, for which zero bytes are values.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the call fills the struct that it is given, which is ours.
        let failed = unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) } != 0;
        let ns =
            |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
        (!failed).then(|| ns(usage.ru_utime) + ns(usage.ru_stime))
    }
}

#[cfg(target_family = "wasm")]
mod platform {
    use std::sync::{Condvar, Mutex, PoisonError};
    use std::time::Duration;

    use js_sys::Function;
    use wasm_bindgen::prelude::*;

    #[wasm_bindgen]
    extern "C" {
        #[wasm_bindgen(js_namespace = performance, js_name = now)]
        fn performance_now() -> f64;

        // What the host's script gives to the thread that coordinates.
        #[wasm_bindgen(thread_local_v2, js_namespace = globalThis, js_name = processCpuNs)]
        static PROCESS_CPU_NS: Option<Function>;
    }

    /// Nanoseconds since some moment, which is another one in each worker.
    #[inline]
    pub fn now_ns() -> u64 {
        (performance_now() * 1e6) as u64
    }

    /// Nanoseconds that all threads of the process, a page's renderer or Node, have spent on
    /// processors, user and system; `None` where the host cannot tell.
    pub fn cpu_ns() -> Option<u64> {
        PROCESS_CPU_NS.with(|read| {
            let ns = read.as_ref()?.call0(&JsValue::NULL).ok()?;
            Some(ns.as_f64()? as u64)
        })
    }

    /// Sleeps. Not by `std::thread::sleep`, which never returns in Node 20: V8's baseline
    /// compiler forgets the local that `memory.atomic.wait32` was given as its timeout, and std
    /// subtracts that very local from what is left to sleep.
    pub fn sleep(length: Duration) {
        let never = Mutex::new(());
        let end = now_ns() + length.as_nanos() as u64;
        while let Some(rest) = end.checked_sub(now_ns()).filter(|&rest| rest > 0) {
            let guard = never.lock().unwrap_or_else(PoisonError::into_inner);
            // Why it woke does not matter: the clock says whether it was long enough.
            drop(Condvar::new().wait_timeout(guard, Duration::from_nanos(rest)));
        }
    }
}

/// How good the clock of this host is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Clock {
    /// What reading it costs, in ns.
    pub cost_ns: f64,
    /// The smallest step that it was seen to make, in ns.
    pub step_ns: f64,
}

impl Clock {
    /// Reads the clock many times, in batches. The cheapest batch says what a reading costs: the
    /// others were interrupted, or ran before the engine had compiled the loop.
    pub fn calibrate() -> Self {
        const BATCHES: usize = 400;
        const READS: usize = 100;
        let mut cost_ns = f64::INFINITY;
        let mut step_ns = f64::INFINITY;
        for _ in 0..BATCHES {
            let begin = now_ns();
            let mut last = begin;
            for _ in 0..READS {
                let now = now_ns();
                if now > last {
                    step_ns = step_ns.min((now - last) as f64);
                }
                last = now;
            }
            // A batch within one step of a coarse clock says nothing.
            if last > begin {
                cost_ns = cost_ns.min((last - begin) as f64 / READS as f64);
            }
        }
        Self { cost_ns, step_ns }
    }

    /// Whether phases of this many ns can be timed by two readings each, `total_ns` of them.
    ///
    /// What a reading costs is subtracted, and so must be small against a phase. A phase may be
    /// shorter than a step: phases begin anywhere between two steps, so that what is cut off from
    /// one is added to another, and the mean of many is right.
    pub fn can_time(&self, phase_ns: f64, total_ns: f64) -> bool {
        const TIMES: f64 = 8.0;
        const ERROR: f64 = 0.05;
        let phases = total_ns / (2.0 * phase_ns);
        // The difference of two uniform errors has this deviation, in steps.
        let error_ns = self.step_ns / 6_f64.sqrt() / phases.sqrt();
        phase_ns >= TIMES * self.cost_ns && error_ns <= ERROR * phase_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coarse_clock_times_many_phases() {
        let coarse = Clock {
            cost_ns: 100.0,
            step_ns: 5000.0,
        };
        assert!(coarse.can_time(2000.0, 5e7));
        assert!(!coarse.can_time(2000.0, 5e5), "too few");
        assert!(!coarse.can_time(700.0, 5e9), "too short");
        let fine = Clock {
            cost_ns: 20.0,
            step_ns: 1.0,
        };
        assert!(fine.can_time(200.0, 5e6));
        assert!(!fine.can_time(f64::NAN, 5e6), "nothing");
    }
}
