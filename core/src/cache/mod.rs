//! What stands in front of the central heap: each worker's cache, and the transfer caches that
//! all workers share.
//!
//! Bottom up: [`lifo`] is the stack of one order in one slot, [`deferring`] the object that a worker
//! defers, [`slot`] a worker's seat with all its stacks and counters, [`checked`] what it has more in
//! checking mode, [`slots`] hands seats out, [`transfer`] holds batches between workers.

pub(crate) mod checked;
pub(crate) mod deferring;
pub(crate) mod lifo;
pub(crate) mod slot;
pub(crate) mod slots;
pub(crate) mod transfer;
