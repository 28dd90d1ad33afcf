//! The central heap: chunks cut into blocks by a buddy system, under one lock.
//!
//! Bottom up: [`block`] is the byte that says what a block is, [`block_map`] the bytes of a
//! chunk, [`free_list`] the free blocks of one order; [`central`] splits, coalesces and grows.

pub(crate) mod block;
pub(crate) mod block_map;
pub(crate) mod central;
pub(crate) mod free_list;
