/**
 * Warena: a memory allocator for WebAssembly memory that many workers share.
 *
 * | module | what it is |
 * | --- | --- |
 * | arena | the class `Arena`: every call |
 * | handle | what another agent attaches by, and the check of it |
 * | realm | this realm's one memory and the module's instance on it |
 * | options | what an arena can be made with |
 * | snapshot | the state of an arena, read from the shared memory itself |
 * | argument | the check of sizes and pointers |
 * | block, stats | what a byte of a block map says; figures |
 * | error | the one class of errors, and its codes |
 *
 * Importing it does nothing: no memory, no worker, no global is touched before a call.
 */
export { Arena } from './arena.js';
export type { BulkRefusal } from './arena.js';
export {
  BlockState,
  CHUNK_BYTES,
  UNITS_PER_CHUNK,
  UNIT_BYTES,
  blockOrder,
  blockState,
} from './block.js';
export type { BlockStateNumber } from './block.js';
export { ArenaError } from './error.js';
export type { ArenaErrorCode } from './error.js';
export type { ArenaHandle } from './handle.js';
export type { ArenaOptions } from './options.js';
export type {
  ChunkSnapshot,
  ConfigSnapshot,
  HeapSnapshot,
  HugeSnapshot,
  Snapshot,
  TransferSnapshot,
  WorkerSnapshot,
} from './snapshot.js';
export type { OrderStats, Stats, Verification } from './stats.js';
