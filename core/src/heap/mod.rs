//! The central heap: chunks cut into blocks by a buddy system, under one lock.
//!
//! Bottom up: [`block`] is the byte that says what a block is, [`block_map`] the bytes of a chunk,
//! [`free_list`] the free blocks of one order, [`deferred`] the frees that wait for the lock;
//! [`shadow`] and [`poison`] are what checking mode keeps and writes.
//! [`central`] splits and coalesces; [`growth`] takes chunks and gives them back, [`huge`] hands
//! out runs of them, [`resize`] changes a block where it is; [`recovery`] puts a heap in order whose
//! holder has ended.

pub(crate) mod block;
pub(crate) mod block_map;
pub(crate) mod central;
pub(crate) mod deferred;
pub(crate) mod extent;
pub(crate) mod free_list;
pub(crate) mod growth;
pub(crate) mod huge;
pub(crate) mod poison;
pub(crate) mod recovery;
pub(crate) mod resize;
pub(crate) mod shadow;
