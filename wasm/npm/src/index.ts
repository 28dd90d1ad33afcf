/**
 * Warena: a memory allocator for WebAssembly memory that many workers share.
 *
 * | module | what it is |
 * | --- | --- |
 * | arena | the class `Arena`: every call |
 * | handle | what another agent attaches by, and the check of it |
 * | realm, load, same_memory, instance | this realm's one memory, its agent there, and the module's instance on it |
 * | registry, turn, statics | the agents of a memory: who they are, and whose turn it is to start |
 * | life, watch_locks, watch_threads | what a death is known by, and who is told |
 * | death, reap, news | what is done about it: the calls, the work, the reports |
 * | objects | what is allocated |
 * | options | what an arena can be made with |
 * | snapshot | the state of an arena, read from the shared memory itself |
 * | call, answer | a call of the module, and what it has to say besides an integer |
 * | argument | the check of sizes and pointers |
 * | block, stats | what a byte of a block map says; figures |
 * | error | the one class of errors, and its codes |
 *
 * Importing it does nothing: no memory, no worker, no global is touched before a call.
 */
export { Arena } from './arena.js';
export type { BulkRefusal } from './arena.js';
export type { CNames } from './c_names.js';
export {
  BlockState,
  CHUNK_BYTES,
  UNITS_PER_CHUNK,
  UNIT_BYTES,
  blockOrder,
  blockState,
  blockUnits,
} from './block.js';
export type { BlockStateNumber } from './block.js';
export { ArenaError } from './error.js';
export type { ArenaErrorCode } from './error.js';
export type { ArenaHandle } from './handle.js';
export type { NodeWorker } from './node_threads.js';
export type { ArenaObject } from './objects.js';
export type { ArenaOptions } from './options.js';
export type { Reaped, ReapReport } from './reap.js';
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
