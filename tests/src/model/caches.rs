//! What the caches in front of the heap must hold, by the plainest code that says so: a vector
//! for each stack and each transfer cache.
//!
//! An object that a program freed is known by its address wherever it goes, until the heap has
//! it. What a refill brings from the heap is not known before it is popped: `None`.

use warena::{Config, FreeError};

const ORDERS: usize = 12;

type Stack = Vec<Option<u32>>;

/// The stacks of each slot, and the transfer caches.
pub struct Caches {
    config: Config,
    slots: Vec<[Stack; ORDERS]>,
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
        let stack = &mut self.slots[slot as usize][order as usize];
        if stack.is_empty() {
            let transfer = &mut self.transfers[order as usize];
            let Some(left) = transfer.len().checked_sub(self.config.batch as usize) else {
                return Source::Heap;
            };
            stack.extend(transfer.drain(left..));
        }
        match stack.pop() {
            Some(object) => Source::Cache(object),
            None => Source::Heap,
        }
    }

    /// The heap gave `count` objects to an empty stack, and one of them was popped.
    pub fn refilled(&mut self, slot: u32, order: u32, count: usize) {
        assert!((1..=self.config.batch as usize).contains(&count));
        let stack = &mut self.slots[slot as usize][order as usize];
        assert!(stack.is_empty());
        stack.extend(vec![None; count - 1]);
    }

    /// `count` objects that nobody knows yet were put on top of a stack ahead of need.
    pub fn reserved(&mut self, slot: u32, order: u32, count: usize) {
        let stack = &mut self.slots[slot as usize][order as usize];
        stack.extend(vec![None; count]);
        assert!(stack.len() <= self.config.capacity as usize);
    }

    /// Objects of `order` on the stack of `slot`.
    pub fn fill(&self, slot: u32, order: u32) -> usize {
        self.slots[slot as usize][order as usize].len()
    }

    /// The worker in `slot` frees the object at `address`; whether that needs the heap.
    pub fn free(&mut self, slot: u32, order: u32, address: u32) -> bool {
        if !self.is_cached(order) {
            return true;
        }
        let mut needs_heap = false;
        let stack = &mut self.slots[slot as usize][order as usize];
        if stack.len() == self.config.capacity as usize {
            let batch = stack.split_off(stack.len() - self.config.batch as usize);
            let transfer = &mut self.transfers[order as usize];
            if transfer.len() + batch.len() <= self.config.transfer_capacity as usize {
                transfer.extend(batch);
            } else {
                needs_heap = true;
            }
        }
        stack.push(Some(address));
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
        self.slots.iter().map(bytes).sum()
    }

    /// Bytes in transfer caches.
    pub fn in_transfer_bytes(&self) -> u64 {
        bytes(&self.transfers)
    }

    /// What a free of `address`, a multiple of 16 that is in no live object, may be refused with.
    pub fn refusals(&self, address: u32) -> Vec<FreeError> {
        let known = |stacks: &[Stack; ORDERS]| {
            stacks.iter().enumerate().any(|(order, stack)| {
                let block = 16 << order;
                stack
                    .iter()
                    .flatten()
                    .any(|&start| (start..start + block).contains(&address))
            })
        };
        if self.slots.iter().any(known) {
            return vec![FreeError::Cached];
        }
        if known(&self.transfers) {
            return vec![FreeError::InTransfer];
        }
        // The heap has it, or had it and has given it to a cache, the arena itself or the source.
        let mut possible = vec![
            FreeError::NotAllocated,
            FreeError::Metadata,
            FreeError::Foreign,
        ];
        let unknown = |stacks: &[Stack; ORDERS]| stacks.iter().flatten().any(Option::is_none);
        if self.slots.iter().any(unknown) {
            possible.push(FreeError::Cached);
        }
        if unknown(&self.transfers) {
            possible.push(FreeError::InTransfer);
        }
        possible
    }

    /// Whether a cache is known to hold the object at `address`.
    pub fn holds(&self, address: u32) -> bool {
        self.slots
            .iter()
            .chain([&self.transfers])
            .flatten()
            .flatten()
            .any(|&object| object == Some(address))
    }
}

fn bytes(stacks: &[Stack; ORDERS]) -> u64 {
    (0..)
        .zip(stacks)
        .map(|(order, stack)| stack.len() as u64 * (16 << order))
        .sum()
}
