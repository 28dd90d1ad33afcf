//! What the caches in front of the heap must hold, by the plainest code that says so: a vector
//! for each stack and each transfer cache.
//!
//! An object that a program freed is known by its address wherever it goes, until the heap has
//! it. What a refill brings from the heap is not known before it is popped: `None`.

use warena::{Config, FreeError, MAX_BURST_BYTES};

const ORDERS: usize = 12;

type Stack = Vec<Option<u32>>;

/// A stack of a slot, which widens for bursts.
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
        let stack = &mut burst.objects;
        if stack.is_empty() {
            let transfer = &mut self.transfers[order as usize];
            let Some(left) = transfer.len().checked_sub(self.config.batch as usize) else {
                return Source::Heap;
            };
            stack.extend(transfer.drain(left..));
        }
        burst.pops += usize::from(!stack.is_empty());
        match stack.pop() {
            Some(object) => Source::Cache(object),
            None => Source::Heap,
        }
    }

    /// The heap gave `count` objects to an empty stack, and one of them was popped.
    pub fn refilled(&mut self, slot: u32, order: u32, count: usize) {
        assert!((1..=self.config.batch as usize).contains(&count));
        let burst = &mut self.slots[slot as usize][order as usize];
        assert!(burst.objects.is_empty());
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
        count <= self.most(order)
    }

    /// The stack of `slot` is to hold `count` objects, which it may.
    pub fn reserve(&mut self, slot: u32, order: u32, count: usize) {
        let usual = self.config.capacity as usize;
        let burst = &mut self.slots[slot as usize][order as usize];
        burst.extra = burst.extra.max(count.saturating_sub(usual));
    }

    /// The most objects that a stack of `order` may hold.
    fn most(&self, order: u32) -> usize {
        let usual = self.config.capacity;
        let objects = if order < 2 { 512 } else { 1024 };
        let burst = self
            .config
            .burst_capacity
            .min(MAX_BURST_BYTES >> (4 + order))
            .min(objects);
        let most = if self.config.checking {
            usual
        } else {
            usual.max(burst)
        };
        most as usize
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
        let (usual, most) = (self.config.capacity as usize, self.most(order));
        let burst = &mut self.slots[slot as usize][order as usize];
        let capacity = usual + burst.extra;
        if burst.objects.len() < capacity {
            // There is room.
        } else if capacity < most && burst.pops >= capacity {
            burst.extra = most.min(2 * capacity) - usual;
        } else if burst.only_fills(capacity, self.config.batch as usize) && burst.extra > 0 {
            let narrow = usual.max(capacity / 2);
            burst.extra = narrow - usual;
            burst.objects.truncate(narrow - 1);
            needs_heap = true;
        } else {
            let stack = &mut burst.objects;
            let batch = stack.split_off(stack.len() - self.config.batch as usize);
            let transfer = &mut self.transfers[order as usize];
            if transfer.len() + batch.len() <= self.config.transfer_capacity as usize {
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

fn bytes<'a>(stacks: impl Iterator<Item = &'a Stack>) -> u64 {
    (0..)
        .zip(stacks)
        .map(|(order, stack)| stack.len() as u64 * (16 << order))
        .sum()
}
