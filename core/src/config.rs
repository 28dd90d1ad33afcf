//! The settings of an arena, their ranges, and the check of them.

use crate::error::ConfigError;
use crate::order::{MAX_CHUNKS, UNIT_BYTES};

/// The most orders that can be cached: objects up to 32 KiB.
pub const MAX_CACHED_ORDERS: u32 = 12;
/// The most objects a cache can hold for one order.
pub const MAX_CAPACITY: u32 = 256;
/// The most objects that a cache can come to hold for one order when bursts need them.
pub const MAX_BURST_CAPACITY: u32 = 1024;
/// The most bytes that a cache comes to hold for one order, beyond its `capacity`, because of bursts.
pub const MAX_BURST_BYTES: u32 = 64 << 10;
/// The most objects a transfer cache can hold for one order.
pub const MAX_TRANSFER_CAPACITY: u32 = 1024;
/// The most bytes that a cache comes to hold for one order, beyond its `capacity`, because it keeps
/// missing: twice the largest batch.
const STEADY_BYTES: u32 = 8 << 10;
/// The most objects of that.
const STEADY_OBJECTS: u32 = 128;
/// The most slots an arena can have: the seeds' limit of CPUs.
pub const MAX_WORKERS: u32 = 8192;
/// The most objects that a worker's quarantine can hold in checking mode.
pub const MAX_QUARANTINE: u32 = 4096;

/// How an arena is made. The defaults are the seeds' figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "camelCase")
)]
pub struct Config {
    /// How many orders, from 0 up, each worker caches: 0 ..= 12. 8 caches objects up to 2 KiB;
    /// 0 switches the caches off, and with them the transfer caches.
    pub cached_orders: u32,
    /// Objects that a worker's cache holds for each order at first: 1 ..= 256. Each miss doubles it, up to
    /// 8 KiB of them or 128, and bursts beyond that; never above `burst_capacity`.
    pub capacity: u32,
    /// Objects that move between layers at once: 1 ..= `capacity`, and as many times that as a cache has
    /// come to be wider by missing. 1: no batches, and caches that only bursts widen.
    pub batch: u32,
    /// Objects that a transfer cache holds for its order: 0 ..= 1024, and not between 0 and
    /// `batch`; as many batches as that is where they come to be larger, up to 1024 objects. 0 switches the transfer caches off: batches then spill to the central heap.
    pub transfer_capacity: u32,
    /// Slots, that is workers attached at one time: 1 ..= 8192.
    pub max_workers: u32,
    /// Chunks of 1 MiB that the arena may own, huge blocks included: 1 ..= 4096. The memory's own
    /// maximum holds as well.
    pub max_chunks: u32,
    /// Checking mode: every allocation and free is checked byte by byte. Freed and padding bytes
    /// are poisoned, reuse is delayed, and [`Arena::check`](crate::Arena::check) knows of every
    /// byte whether it is allocated. Costs time on each call and 64 KiB more of each chunk.
    pub checking: bool,
    /// Freed objects that a worker keeps from reuse in checking mode: 0 ..= 4096, and of at most
    /// 1 MiB together. Without checking mode it is not used.
    pub quarantine: u32,
    /// Objects that a worker's cache may come to hold for an order, where the worker keeps allocating
    /// and freeing more than its cache holds: `capacity` ..= 1024. Beyond `capacity` at most 64 KiB of
    /// them, and 512 of 16 or 32 bytes. Each takes 4 bytes of a slot, which with the default settings
    /// is a block of 16 KiB. Not used in checking mode.
    pub burst_capacity: u32,
}

impl Config {
    /// The seeds' figures: 8 orders, 16 objects, batches of 8, 64 in transfer; 256 workers.
    pub const DEFAULT: Self = Self {
        cached_orders: 8,
        capacity: 16,
        batch: 8,
        transfer_capacity: 64,
        max_workers: 256,
        max_chunks: MAX_CHUNKS as u32,
        checking: false,
        quarantine: 256,
        burst_capacity: MAX_BURST_CAPACITY,
    };

    /// Every operation goes to the central heap under its lock: the seeds' "before".
    pub const NO_CACHES: Self = Self {
        cached_orders: 0,
        ..Self::DEFAULT
    };

    /// Caches without transfer caches: the alternative that the seeds measured and dropped.
    pub const SPILL_ONLY: Self = Self {
        transfer_capacity: 0,
        ..Self::DEFAULT
    };

    /// The default in checking mode.
    pub const CHECKING: Self = Self {
        checking: true,
        ..Self::DEFAULT
    };

    /// Refuses a setting that is out of its range, naming it and the range.
    pub const fn check(&self) -> Result<(), ConfigError> {
        let ranges = [
            ("cached_orders", self.cached_orders, 0, MAX_CACHED_ORDERS),
            ("capacity", self.capacity, 1, MAX_CAPACITY),
            ("batch", self.batch, 1, self.capacity),
            (
                "transfer_capacity",
                self.transfer_capacity,
                // A transfer cache that cannot hold one batch would never hold anything.
                if self.transfer_capacity == 0 {
                    0
                } else {
                    self.batch
                },
                MAX_TRANSFER_CAPACITY,
            ),
            ("max_workers", self.max_workers, 1, MAX_WORKERS),
            ("max_chunks", self.max_chunks, 1, MAX_CHUNKS as u32),
            ("quarantine", self.quarantine, 0, MAX_QUARANTINE),
            (
                "burst_capacity",
                self.burst_capacity,
                self.capacity,
                MAX_BURST_CAPACITY,
            ),
        ];
        let mut index = 0;
        // A constant function has no iterators.
        while index < ranges.len() {
            let (setting, value, least, most) = ranges[index];
            if value < least || value > most {
                return Err(ConfigError {
                    setting,
                    value,
                    least,
                    most,
                });
            }
            index += 1;
        }
        Ok(())
    }

    /// Objects of `order` that a cache may come to hold.
    pub(crate) const fn most_cached(&self, order: u32) -> u32 {
        // Half as many of the two smallest: a slot of the default settings is then a block of 16 KiB.
        let smallest = if order < 2 {
            MAX_BURST_CAPACITY / 2
        } else {
            MAX_BURST_CAPACITY
        };
        let in_bytes = (MAX_BURST_BYTES / UNIT_BYTES) >> order;
        let in_bytes = if in_bytes < smallest {
            in_bytes
        } else {
            smallest
        };
        let burst = if in_bytes < self.burst_capacity {
            in_bytes
        } else {
            self.burst_capacity
        };
        if self.checking || burst < self.capacity {
            self.capacity
        } else {
            burst
        }
    }

    /// Objects of `order` that a cache comes to hold just by missing: each miss doubles it up to here,
    /// and with it the batches that move. A worker that only allocates what others free, or the other
    /// way round, so asks the shared layers less and less often.
    pub(crate) const fn steady(&self, order: u32) -> u32 {
        let in_bytes = STEADY_BYTES >> (UNIT_BYTES.trailing_zeros() + order);
        let wide = if in_bytes < STEADY_OBJECTS {
            in_bytes
        } else {
            STEADY_OBJECTS
        };
        let most = self.most_cached(order);
        let wide = if wide < most { wide } else { most };
        // Who wants no batches is not to get any.
        if wide < self.capacity || self.batch == 1 {
            self.capacity
        } else {
            wide
        }
    }

    /// Objects of `order` that a cache which holds up to `capacity` moves at once: `batch` for what it
    /// holds at first, and as many times that as it is wider, up to its steady width.
    pub(crate) const fn moved(&self, order: u32, capacity: u32) -> u32 {
        let steady = self.steady(order);
        let wide = if capacity < steady { capacity } else { steady };
        self.batch * wide / capacity_or_one(self.capacity)
    }

    /// Room of the transfer cache of `order`: for as many of the largest batches as
    /// `transfer_capacity` has of the smallest.
    pub(crate) const fn transfer_room(&self, order: u32) -> u32 {
        let room = self.transfer_capacity * self.steady(order) / capacity_or_one(self.capacity);
        if room < MAX_TRANSFER_CAPACITY {
            room
        } else {
            MAX_TRANSFER_CAPACITY
        }
    }

    /// Objects of all cached orders that a cache may come to hold.
    pub(crate) const fn most_cached_of_all(&self) -> u32 {
        let (mut sum, mut order) = (0, 0);
        while order < self.cached_orders {
            sum += self.most_cached(order);
            order += 1;
        }
        sum
    }
}

/// A capacity to divide by. None is 0, which the compiler cannot know.
const fn capacity_or_one(capacity: u32) -> u32 {
    if capacity == 0 { 1 } else { capacity }
}

impl Default for Config {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn presets_pass() {
        for config in [
            Config::DEFAULT,
            Config::NO_CACHES,
            Config::SPILL_ONLY,
            Config::CHECKING,
        ] {
            assert_eq!(config.check(), Ok(()));
        }
    }

    #[test]
    fn every_setting_is_checked_and_named() {
        let bad = [
            (
                "cached_orders",
                Config {
                    cached_orders: 13,
                    ..Config::DEFAULT
                },
            ),
            (
                "capacity",
                Config {
                    capacity: 0,
                    ..Config::DEFAULT
                },
            ),
            (
                "batch",
                Config {
                    batch: 17,
                    ..Config::DEFAULT
                },
            ),
            (
                "transfer_capacity",
                Config {
                    transfer_capacity: 7,
                    ..Config::DEFAULT
                },
            ),
            (
                "max_workers",
                Config {
                    max_workers: 8193,
                    ..Config::DEFAULT
                },
            ),
            (
                "max_chunks",
                Config {
                    max_chunks: 0,
                    ..Config::DEFAULT
                },
            ),
            (
                "quarantine",
                Config {
                    quarantine: 4097,
                    ..Config::CHECKING
                },
            ),
            (
                "burst_capacity",
                Config {
                    burst_capacity: 15,
                    ..Config::DEFAULT
                },
            ),
        ];
        for (setting, config) in bad {
            assert_eq!(config.check().map_err(|error| error.setting), Err(setting));
        }
    }
}
