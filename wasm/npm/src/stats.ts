/** Figures of an arena, as the module hands them out. All are numbers, exact up to 2^53. */

/**
 * Bytes by state, and what the layers did since the arena was made. `freeBytes + allocatedBytes +
 * cachedBytes + inTransferBytes + deferredBytes + metadataBytes` is `ownedBytes`, always; while
 * workers run, the parts are a sample, off by the objects in flight.
 */
export interface Stats {
  /** Chunks of 1 MiB that are cut into blocks. */
  chunks: number;
  /** Chunks of 1 MiB in huge blocks. */
  hugeChunks: number;
  /** Workers attached. */
  workers: number;
  /** Bytes of all chunks. */
  ownedBytes: number;
  /** Bytes on the central heap's free lists. */
  freeBytes: number;
  /** Bytes of the blocks in the program's hands. */
  allocatedBytes: number;
  /** Bytes in workers' caches. */
  cachedBytes: number;
  /** Bytes in transfer caches. */
  inTransferBytes: number;
  /** Bytes on the deferred list. */
  deferredBytes: number;
  /** Bytes of block maps, header, slots and tables. */
  metadataBytes: number;
  /** Allocations that a cache served, refilled or not. */
  cacheAllocations: number;
  /** Frees that a cache took, with a spill or without. */
  cacheFrees: number;
  /** Allocations that needed nothing but the worker's own cache. */
  cacheHits: number;
  /** Batches that refilled a cache from a transfer cache. */
  refillsFromTransfer: number;
  /** Batches that refilled a cache from the central heap. */
  refillsFromHeap: number;
  /** Batches that a full cache left in a transfer cache. */
  spillsToTransfer: number;
  /** Batches that a full cache left in the central heap. */
  spillsToHeap: number;
  /** Blocks allocated from the central heap one at a time. */
  directAllocations: number;
  /** Blocks freed to the central heap one at a time. */
  directFrees: number;
  /** Objects that came back by way of the deferred list. */
  deferredFrees: number;
  /** Blocks halved. */
  splits: number;
  /** Buddies joined. */
  merges: number;
  /** Chunks taken from the memory. */
  grows: number;
  /** Chunks given back, for any arena on this memory to take again. */
  releases: number;
  /** Times that the heap lock was taken. */
  heapLocks: number;
  /** Bytes of the largest block on the central heap's free lists. */
  largestFreeBytes: number;
  /** Most bytes that the arena ever owned. */
  peakOwnedBytes: number;
  /** Most bytes that were ever out of the central heap: allocated, cached, in transfer, deferred. */
  peakOutBytes: number;
  /** Bytes that were asked for. Known in checking mode only, which is the Rust crate's so far. */
  requestedBytes: number | undefined;
  /** How often memory was found written where nobody should have, in checking mode. */
  damages: number;
  /** Figures by the order of the blocks: of 16 bytes, 32, … up to 524,288. */
  orders: OrderStats[];
}

/** Figures of the blocks of one order. */
export interface OrderStats {
  /** Bytes of a block. */
  blockBytes: number;
  /** Blocks in the program's hands, or on the deferred list. */
  allocatedObjects: number;
  /** Blocks in workers' caches. */
  cachedObjects: number;
  /** Blocks in the transfer cache. */
  inTransferObjects: number;
  /** Allocations so far, but for those in bulk. */
  allocations: number;
  /** Frees so far, but for those that were deferred. */
  frees: number;
}

/** What an arena holds, by state: the result of a proof that found nothing wrong. */
export interface Verification {
  /** Chunks of blocks walked. */
  chunks: number;
  /** Huge blocks, each a run of chunks. */
  hugeBlocks: number;
  /** Blocks walked. */
  blocks: number;
  /** Bytes of all chunks. */
  ownedBytes: number;
  /** Bytes on free lists. */
  freeBytes: number;
  /** Bytes in the program's hands. */
  allocatedBytes: number;
  /** Objects in the program's hands. */
  allocatedObjects: number;
  /** Bytes in workers' caches. */
  cachedBytes: number;
  /** Bytes in transfer caches. */
  inTransferBytes: number;
  /** Bytes on the deferred list. */
  deferredBytes: number;
  /** Bytes of the allocator's own. */
  metadataBytes: number;
}
