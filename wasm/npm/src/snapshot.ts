/**
 * Snapshots: the state of an arena, read straight from the shared memory.
 *
 * Nothing is locked and no worker is asked, so a sample is racy by design: each word is what it
 * was at some recent moment. Where everything stands comes from the module's own layout. What is
 * handed out are numbers and copies, never a view of the shared memory, and an earlier snapshot's
 * objects and arrays are used again when it is given back.
 */
import { CHUNK_BYTES, UNITS_PER_CHUNK, UNIT_BYTES } from './block.js';
import { ArenaError, shown } from './error.js';
import { FACTS } from './generated/facts.js';
import { covering } from './view.js';

const { layout } = FACTS;

/** A chunk and its block map. */
export interface ChunkSnapshot {
  /** Where it starts. */
  address: number;
  /** A copy of its block map: one byte for each of its 65,536 units. */
  map: Uint8Array<ArrayBuffer>;
}

/** A huge block: a run of chunks that is one object, without a block map. */
export interface HugeSnapshot {
  /** Where it starts. */
  address: number;
  /** How many chunks it has. */
  chunks: number;
  /** Whether it was freed, and waits on the deferred list. */
  deferred: boolean;
}

/** A slot: a worker's cache and counters. Counters go on when another worker takes the seat. */
export interface WorkerSnapshot {
  /** Its number. */
  slot: number;
  /** Whether a worker sits there. */
  attached: boolean;
  /** Objects in the cache, for each cached order: 0 ..= its capacity. */
  fill: number[];
  /** Objects that the cache holds at most, for each cached order: more than at first after bursts. */
  capacity: number[];
  /** Allocations that the cache served, for each cached order. */
  allocations: number[];
  /** Frees that the cache took, for each cached order. */
  frees: number[];
  /** Batches that came from a transfer cache. */
  refillsFromTransfer: number;
  /** Batches that came from the central heap. */
  refillsFromHeap: number;
  /** Batches that went to a transfer cache. */
  spillsToTransfer: number;
  /** Batches that went to the central heap. */
  spillsToHeap: number;
  /** Blocks that went to or came from the central heap one at a time. */
  direct: number;
  /** Allocations that needed nothing but the cache. */
  hits: number;
}

/** A transfer cache. */
export interface TransferSnapshot {
  /** The order of its objects. */
  order: number;
  /** How many it holds. */
  objects: number;
  /** How many it can hold. */
  capacity: number;
}

/** The settings that the arena was made with. */
export interface ConfigSnapshot {
  cachedOrders: number;
  capacity: number;
  burstCapacity: number;
  batch: number;
  transferCapacity: number;
  maximumWorkers: number;
  maximumChunks: number;
}

/** The central heap's counters since the arena was made. */
export interface HeapSnapshot {
  /** Blocks halved. */
  splits: number;
  /** Buddies joined. */
  merges: number;
  /** Chunks taken from the memory. */
  grows: number;
  /** Chunks given back. */
  releases: number;
  /** Bytes on the free lists. */
  freeBytes: number;
  /** Times that the heap's lock was taken. */
  lockAcquisitions: number;
}

/** What an arena looked like. */
export interface Snapshot {
  config: ConfigSnapshot;
  /** Bytes of the whole memory. */
  memoryBytes: number;
  /** Bytes of the arena's chunks, those of huge blocks included. */
  ownedBytes: number;
  /** The arena's chunks of blocks, lowest first. */
  chunks: ChunkSnapshot[];
  /** The arena's huge blocks, lowest first. */
  huge: HugeSnapshot[];
  /** Slots made so far, by number. */
  workers: WorkerSnapshot[];
  /** Transfer caches by order; none when they are switched off. */
  transfer: TransferSnapshot[];
  heap: HeapSnapshot;
}

/** Words of shared memory from one address on, read by their byte offsets from it. */
class Region {
  readonly #words: Uint32Array;
  readonly #longs: BigUint64Array;

  constructor(memory: WebAssembly.Memory, address: number, bytes: number) {
    const buffer = covering(memory, address + bytes);
    if (buffer === undefined || address % 8 !== 0) {
      throw new ArenaError(
        'Corrupt',
        `snapshot(): the arena points to ${shown(address)}, where it has nothing`,
        {
          pointer: address,
        },
      );
    }
    this.#words = new Uint32Array(buffer, address, bytes / 4);
    this.#longs = new BigUint64Array(buffer, address, Math.floor(bytes / 8));
  }

  word(offset: number): number {
    return this.#words[offset / 4]!;
  }

  /** A counter of 64 bits, which one load reads whole. */
  long(offset: number): number {
    return Number(this.#longs[offset / 8]!);
  }
}

const HEADER_BYTES = layout.headerReadBytes;
const SLOT_BYTES = Math.max(
  layout.slotAttached + 4,
  layout.slotNumber + 4,
  layout.slotLifos + layout.maxCachedOrders * layout.lifoBytes,
  layout.slotTraffic + layout.orders * layout.trafficBytes,
);

function emptySnapshot(): Snapshot {
  return {
    config: {
      cachedOrders: 0,
      capacity: 0,
      burstCapacity: 0,
      batch: 0,
      transferCapacity: 0,
      maximumWorkers: 0,
      maximumChunks: 0,
    },
    memoryBytes: 0,
    ownedBytes: 0,
    chunks: [],
    huge: [],
    workers: [],
    transfer: [],
    heap: { splits: 0, merges: 0, grows: 0, releases: 0, freeBytes: 0, lockAcquisitions: 0 },
  };
}

function emptyWorker(slot: number): WorkerSnapshot {
  return {
    slot,
    attached: false,
    fill: [],
    capacity: [],
    allocations: [],
    frees: [],
    refillsFromTransfer: 0,
    refillsFromHeap: 0,
    spillsToTransfer: 0,
    spillsToHeap: 0,
    direct: 0,
    hits: 0,
  };
}

function readConfig(header: Region, config: ConfigSnapshot): void {
  const setting = (index: number) => header.word(layout.headerConfig + index * 4);
  config.cachedOrders = setting(0);
  config.capacity = setting(1);
  config.batch = setting(2);
  config.transferCapacity = setting(3);
  config.maximumWorkers = setting(4);
  config.maximumChunks = setting(5);
  config.burstCapacity = setting(8);
}

function readHeap(header: Region, heap: HeapSnapshot): void {
  heap.splits = header.long(layout.headerSplits);
  heap.merges = header.long(layout.headerMerges);
  heap.grows = header.long(layout.headerGrows);
  heap.releases = header.long(layout.headerReleases);
  heap.freeBytes = header.word(layout.headerFreeUnits) * UNIT_BYTES;
  heap.lockAcquisitions = header.long(layout.headerHeapLocks);
}

/**
 * A copy of the table that says, by a byte, what each chunk of the memory is to the arena.
 *
 * @internal
 */
export function readKinds(memory: WebAssembly.Memory, address: number): Uint8Array {
  const buffer = covering(memory, address + HEADER_BYTES)!;
  return new Uint8Array(buffer, address + layout.headerChunkKinds, layout.maxChunks).slice();
}

/** Copies the block map of every chunk. @internal */
export function readChunks(memory: WebAssembly.Memory, kinds: Uint8Array, chunks: ChunkSnapshot[]): void {
  const { chunkKindBlocks } = layout;
  let count = 0;
  for (
    let index = kinds.indexOf(chunkKindBlocks);
    index !== -1;
    index = kinds.indexOf(chunkKindBlocks, index + 1)
  ) {
    const chunk = index * CHUNK_BYTES;
    const buffer = covering(memory, chunk + CHUNK_BYTES);
    if (buffer === undefined) {
      continue;
    }
    const snapshot = (chunks[count] ??= { address: chunk, map: new Uint8Array(UNITS_PER_CHUNK) });
    snapshot.address = chunk;
    snapshot.map.set(new Uint8Array(buffer, chunk, UNITS_PER_CHUNK));
    count += 1;
  }
  chunks.length = count;
}

/** Finds the huge blocks. @internal */
export function readHuge(kinds: Uint8Array, huge: HugeSnapshot[]): void {
  const { chunkKindHuge, chunkKindHugeRest, chunkKindHugeDeferred } = layout;
  let count = 0;
  for (let index = 0; index < kinds.length; index += 1) {
    const kind = kinds[index];
    if (kind !== chunkKindHuge && kind !== chunkKindHugeDeferred) {
      continue;
    }
    const first = index;
    while (kinds[index + 1] === chunkKindHugeRest) {
      index += 1;
    }
    const snapshot = (huge[count] ??= { address: 0, chunks: 0, deferred: false });
    snapshot.address = first * CHUNK_BYTES;
    snapshot.chunks = index + 1 - first;
    snapshot.deferred = kind === chunkKindHugeDeferred;
    count += 1;
  }
  huge.length = count;
}

function readWorker(
  region: Region,
  { cachedOrders }: ConfigSnapshot,
  worker: WorkerSnapshot,
): void {
  worker.attached = region.word(layout.slotAttached) !== 0;
  worker.refillsFromTransfer = 0;
  worker.refillsFromHeap = 0;
  worker.spillsToTransfer = 0;
  worker.spillsToHeap = 0;
  worker.direct = 0;
  worker.hits = 0;
  worker.fill.length = cachedOrders;
  worker.capacity.length = cachedOrders;
  worker.allocations.length = cachedOrders;
  worker.frees.length = cachedOrders;
  for (let order = 0; order < layout.orders; order += 1) {
    const traffic = layout.slotTraffic + order * layout.trafficBytes;
    const refillsFromTransfer = region.long(traffic + layout.trafficRefillsFromTransfer);
    const refillsFromHeap = region.long(traffic + layout.trafficRefillsFromHeap);
    worker.refillsFromTransfer += refillsFromTransfer;
    worker.refillsFromHeap += refillsFromHeap;
    worker.spillsToTransfer += region.long(traffic + layout.trafficSpillsToTransfer);
    worker.spillsToHeap += region.long(traffic + layout.trafficSpillsToHeap);
    worker.direct +=
      region.long(traffic + layout.trafficDirectAllocations) +
      region.long(traffic + layout.trafficDirectFrees);
    if (order >= cachedOrders) {
      continue;
    }
    const lifo = layout.slotLifos + order * layout.lifoBytes;
    const base = region.word(lifo + layout.lifoBase);
    const objects = (end: number) =>
      Math.max((region.word(lifo + end) - base) / layout.lifoEntryBytes, 0);
    const capacity = objects(layout.lifoLimit);
    const fill = Math.min(objects(layout.lifoTop), capacity);
    worker.capacity[order] = capacity;
    const pops = region.long(lifo + layout.lifoPops);
    // What went in is what is there and what left, less what came in batches.
    const pushes =
      pops +
      fill +
      region.long(traffic + layout.trafficObjectsOut) -
      region.long(traffic + layout.trafficObjectsIn);
    worker.fill[order] = fill;
    worker.allocations[order] = pops;
    worker.frees[order] = Math.max(pushes, 0);
    worker.hits += Math.max(pops - refillsFromTransfer - refillsFromHeap, 0);
  }
}

function readWorkers(
  memory: WebAssembly.Memory,
  header: Region,
  config: ConfigSnapshot,
  workers: WorkerSnapshot[],
): void {
  const made = header.word(layout.headerSlotsMade);
  workers.length = Math.min(workers.length, made);
  if (made === 0) {
    return;
  }
  const directory = new Region(memory, header.word(layout.headerSlotDirectory), made * 4);
  for (let slot = 0; slot < made; slot += 1) {
    const worker = (workers[slot] ??= emptyWorker(slot));
    readWorker(new Region(memory, directory.word(slot * 4), SLOT_BYTES), config, worker);
  }
}

function readTransfer(
  header: Region,
  { cachedOrders, transferCapacity }: ConfigSnapshot,
  transfer: TransferSnapshot[],
): void {
  transfer.length = Math.min(transfer.length, transferCapacity === 0 ? 0 : cachedOrders);
  if (transferCapacity === 0) {
    return;
  }
  for (let order = 0; order < cachedOrders; order += 1) {
    const start = layout.headerTransfers + order * layout.transferBytes;
    const snapshot = (transfer[order] ??= { order, objects: 0, capacity: 0 });
    snapshot.objects = header.word(start + layout.transferCount);
    snapshot.capacity = header.word(start + layout.transferCapacity);
  }
}

/** The number of the agent in a slot, 0 for nobody; undefined for a slot that was never made. @internal */
export function slotAgent(
  memory: WebAssembly.Memory,
  address: number,
  slot: number,
): number | undefined {
  const header = new Region(memory, address, HEADER_BYTES);
  const made = header.word(layout.headerSlotsMade);
  if (slot >= made) {
    return undefined;
  }
  const directory = new Region(memory, header.word(layout.headerSlotDirectory), made * 4);
  return new Region(memory, directory.word(slot * 4), SLOT_BYTES).word(layout.slotAttached);
}

/** Copies the state of the arena whose header is at `address`. @internal */
export function takeSnapshot(
  memory: WebAssembly.Memory,
  address: number,
  into = emptySnapshot(),
): Snapshot {
  const header = new Region(memory, address, HEADER_BYTES);
  readConfig(header, into.config);
  readHeap(header, into.heap);
  const kinds = readKinds(memory, address);
  readChunks(memory, kinds, into.chunks);
  readHuge(kinds, into.huge);
  readWorkers(memory, header, into.config, into.workers);
  readTransfer(header, into.config, into.transfer);
  const hugeChunks = into.huge.reduce((sum, { chunks }) => sum + chunks, 0);
  into.ownedBytes = (into.chunks.length + hugeChunks) * CHUNK_BYTES;
  into.memoryBytes = memory.buffer.byteLength;
  return into;
}
