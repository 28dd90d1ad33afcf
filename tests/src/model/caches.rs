//! What the caches in front of the heap must hold, by the plainest code that says so: a vector
//! for each stack and each transfer cache.
//!
//! An object that a program freed is known by its address wherever it goes, until the heap has
//! it. What a refill brings from the heap is not known before it is popped: `None`.

use warena::{Config, FreeError, MAX_BURST_BYTES};

const ORDERS: usize = 12;

type Stack = Vec<Option<u32>>;

/// A stack of a slot, which widens by missing and for bursts.
#[derive(Default)]
struct Burst {
    objects: Stack,
    /// Room beyond what every stack has.
    extra: usize,
    /// Pops lately.
    pops: usize,
    /// Objects spilled lately.
    spilled: usize,
}

impl Burst {
    /// It missed: it is to hold twice as many, up to its steady width; whether it holds more now.
    fn widen(&mut self, config: &Config, order: u32) -> bool {
        let usual = config.capacity as usize;
        let capacity = usual + self.extra;
        let wider = capacity.max(steady(config, order).min(2 * capacity));
        self.extra = wider - usual;
        wider > capacity
    }

    /// It spills: whether several times what it holds went through it and nothing was popped.
    fn only_fills(&mut self, capacity: usize, batch: usize) -> bool {
        self.spilled += batch;
        let passed = self.spilled >= 4 * capacity;
        let only_fills = passed && self.pops == 0;
        if passed {
            (self.pops, self.spilled) = (0, 0);
        }
        only_fills
    }
}

/// The stacks of each slot, and the transfer caches.
pub struct Caches {
    config: Config,
    slots: Vec<[Burst; ORDERS]>,
    transfers: [Stack; ORDERS],
}

/// Where an allocation came from.
pub enum Source {
    /// A cache held it: this very object, where it is known.
    Cache(Option<u32>),
    /// The stack was empty and the transfer cache short: it depends on the heap.
    Heap,
}

impl Caches {
    /// All empty.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            slots: (0..config.max_workers)
                .map(|_| Default::default())
                .collect(),
            transfers: Default::default(),
        }
    }

    /// Whether workers cache this order.
    pub fn is_cached(&self, order: u32) -> bool {
        order < self.config.cached_orders
    }

    /// Takes an object of `order` for the worker in `slot`, if caches alone can give one.
    pub fn alloc(&mut self, slot: u32, order: u32) -> Source {
        if !self.is_cached(order) {
            return Source::Heap;
        }
        let burst = &mut self.slots[slot as usize][order as usize];
        if burst.objects.is_empty() {
            let transfer = &mut self.transfers[order as usize];
            if transfer.is_empty() {
                return Source::Heap;
            }
            let capacity = self.config.capacity as usize + burst.extra;
            let left = transfer
                .len()
                .saturating_sub(moved(&self.config, order, capacity));
            burst.objects.extend(transfer.drain(left..));
            burst.widen(&self.config, order);
        }
        burst.pops += usize::from(!burst.objects.is_empty());
        match burst.objects.pop() {
            Some(object) => Source::Cache(object),
            None => Source::Heap,
        }
    }

    /// The heap gave `count` objects to an empty stack, and one of them was popped.
    pub fn refilled(&mut self, slot: u32, order: u32, count: usize) {
        let config = &self.config;
        let burst = &mut self.slots[slot as usize][order as usize];
        assert!(burst.objects.is_empty());
        let usual = config.capacity as usize;
        // At least what has its bytes in one line of the block map, if a batch may be that large.
        let line = 1024 / (16 << order);
        let wanted = moved(config, order, usual + burst.extra).max(line.min(moved(
            config,
            order,
            steady(config, order),
        )));
        assert!((1..=wanted).contains(&count));
        burst.extra = burst.extra.max(wanted.saturating_sub(usual));
        burst.widen(config, order);
        burst.objects.extend(vec![None; count - 1]);
        burst.pops += 1;
    }

    /// `count` objects that nobody knows yet were put on top of a stack ahead of need.
    pub fn reserved(&mut self, slot: u32, order: u32, count: usize) {
        let burst = &mut self.slots[slot as usize][order as usize];
        burst.objects.extend(vec![None; count]);
        assert!(burst.objects.len() <= self.config.capacity as usize + burst.extra);
    }

    /// Whether a stack of `order` may hold `count` objects.
    pub fn may_hold(&self, order: u32, count: usize) -> bool {
        count <= most(&self.config, order)
    }

    /// The stack of `slot` is to hold `count` objects, which it may.
    pub fn reserve(&mut self, slot: u32, order: u32, count: usize) {
        let usual = self.config.capacity as usize;
        let burst = &mut self.slots[slot as usize][order as usize];
        burst.extra = burst.extra.max(count.saturating_sub(usual));
    }

    /// Objects of `order` on the stack of `slot`.
    pub fn fill(&self, slot: u32, order: u32) -> usize {
        self.slots[slot as usize][order as usize].objects.len()
    }

    /// The worker in `slot` frees the object at `address`; whether that needs the heap.
    pub fn free(&mut self, slot: u32, order: u32, address: u32) -> bool {
        if !self.is_cached(order) {
            return true;
        }
        let mut needs_heap = false;
        let config = &self.config;
        let (usual, most) = (config.capacity as usize, most(config, order));
        let steady = steady(config, order);
        let burst = &mut self.slots[slot as usize][order as usize];
        let capacity = usual + burst.extra;
        if burst.objects.len() < capacity {
            // There is room.
        } else if burst.widen(config, order) {
            // Now there is.
        } else if capacity < most && burst.pops >= capacity {
            burst.extra = most.min(2 * capacity) - usual;
        } else if burst.only_fills(capacity, moved(config, order, capacity)) && capacity > steady {
            let narrow = steady.max(capacity / 2);
            burst.extra = narrow - usual;
            burst.objects.truncate(narrow - 1);
            needs_heap = true;
        } else {
            let stack = &mut burst.objects;
            let batch = stack.split_off(stack.len() - moved(config, order, capacity));
            let transfer = &mut self.transfers[order as usize];
            let room = (config.transfer_capacity as usize * steady / usual).min(1024);
            if transfer.len() + batch.len() <= room {
                transfer.extend(batch);
            } else {
                needs_heap = true;
            }
        }
        burst.objects.push(Some(address));
        needs_heap
    }

    /// Everything of `slot` goes back to the heap.
    pub fn flush(&mut self, slot: u32) {
        self.slots[slot as usize] = Default::default();
    }

    /// Everything in transfer goes back to the heap.
    pub fn drain_transfers(&mut self) {
        self.transfers = Default::default();
    }

    /// Bytes in workers' caches.
    pub fn cached_bytes(&self) -> u64 {
        let stacks = self
            .slots
            .iter()
            .map(|slot| slot.iter().map(|burst| &burst.objects));
        stacks.map(bytes).sum()
    }

    /// Bytes in transfer caches.
    pub fn in_transfer_bytes(&self) -> u64 {
        bytes(self.transfers.iter())
    }

    /// What a free of `address`, a multiple of 16 that is in no live object, may be refused with.
    pub fn refusals(&self, address: u32) -> Vec<FreeError> {
        let known = |order: usize, stack: &Stack| {
            let block = 16 << order;
            let mut starts = stack.iter().flatten();
            starts.any(|&start| (start..start + block).contains(&address))
        };
        if self.cached().any(|(order, stack)| known(order, stack)) {
            return vec![FreeError::Cached];
        }
        if (0..)
            .zip(&self.transfers)
            .any(|(order, stack)| known(order, stack))
        {
            return vec![FreeError::InTransfer];
        }
        // The heap has it, or had it and has given it to a cache, the arena itself or the source.
        let mut possible = vec![
            FreeError::NotAllocated,
            FreeError::Metadata,
            FreeError::Foreign,
        ];
        if self.cached().any(|(_, stack)| stack.contains(&None)) {
            possible.push(FreeError::Cached);
        }
        if self.transfers.iter().any(|stack| stack.contains(&None)) {
            possible.push(FreeError::InTransfer);
        }
        possible
    }

    /// Whether a cache is known to hold the object at `address`.
    pub fn holds(&self, address: u32) -> bool {
        let cached = self.cached().map(|(_, stack)| stack);
        cached
            .chain(&self.transfers)
            .any(|stack| stack.contains(&Some(address)))
    }

    /// The stacks of all slots with their orders.
    fn cached(&self) -> impl Iterator<Item = (usize, &Stack)> {
        let slots = self.slots.iter();
        slots.flat_map(|slot| (0..).zip(slot.iter().map(|burst| &burst.objects)))
    }
}

/// The most objects that a stack of `order` may hold.
fn most(config: &Config, order: u32) -> usize {
    let usual = config.capacity;
    let objects = if order < 2 { 512 } else { 1024 };
    let burst = config
        .burst_capacity
        .min(MAX_BURST_BYTES >> (4 + order))
        .min(objects);
    let most = if config.checking {
        usual
    } else {
        usual.max(burst)
    };
    most as usize
}

/// The objects that a stack of `order` comes to hold just by missing: 8 KiB or 128 of them.
fn steady(config: &Config, order: u32) -> usize {
    let usual = config.capacity as usize;
    if config.batch == 1 {
        return usual;
    }
    let wide = (8192 >> (4 + order)).min(128);
    usual.max(most(config, order).min(wide))
}

/// The objects that a stack moves at once which holds up to `capacity`.
fn moved(config: &Config, order: u32, capacity: usize) -> usize {
    let wide = capacity.min(steady(config, order));
    config.batch as usize * wide / config.capacity as usize
}

fn bytes<'a>(stacks: impl Iterator<Item = &'a Stack>) -> u64 {
    (0..)
        .zip(stacks)
        .map(|(order, stack)| stack.len() as u64 * (16 << order))
        .sum()
}
