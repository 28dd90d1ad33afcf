/**
 * The class `Arena`: this agent's seat in an arena, and every call.
 *
 * An arena itself lives in shared memory and belongs to nobody; an `Arena` object is one seat in
 * it, with a cache of its own. Two objects in one realm are two seats.
 */
import {
  badAlignment,
  badCount,
  badSize,
  isUnsigned,
  unsigned,
  unsignedAll,
} from './argument.js';
import { PIECE, passedPointers, readFigures } from './answer.js';
import { cNames, type CNames } from './c_names.js';
import { CLOSED, openCache, type Cache } from './cache.js';
import { ArenaError, shown } from './error.js';
import { FACTS } from './generated/facts.js';
import * as glue from './glue/warena_wasm.js';
import { checkHandle, makeHandle, type ArenaHandle } from './handle.js';
import { settings, type ArenaOptions } from './options.js';
import type { NodeWorker } from './node_threads.js';
import { listObjects, type ArenaObject } from './objects.js';
import type { Reaped, ReapReport } from './reap.js';
import { call, lastRefusal } from './call.js';
import {
  enter,
  identity,
  leave,
  ownRealm,
  realmOf,
  type Realm,
  type Seat,
} from './realm.js';
import { reapSlot, vouchFor, watchWorker } from './death.js';
import { takeSnapshot, type Snapshot } from './snapshot.js';
import type { Stats, Verification } from './stats.js';
import { covering } from './view.js';

/** A pointer that `freeBulk` did not free. */
export interface BulkRefusal {
  /** Where it stands in the array. */
  index: number;
  /** Why, as `free` would have thrown it. */
  error: ArenaError;
}

/** An agent's seat in an arena. */
export class Arena {
  readonly #realm: Realm;
  readonly #header: number;
  /** The address of the slot; 0 once detached. */
  #seat: number;
  readonly #slot: number;
  /** Closed once detached. Both calls stand beside it, since each look for them would be paid for. */
  #cache: Cache;
  #pop: Cache['pop'];
  #push: Cache['push'];

  private constructor(realm: Realm, { header, seat }: Seat) {
    this.#realm = realm;
    this.#header = header;
    this.#seat = seat;
    this.#slot = glue.slot_number(seat);
    this.#cache = FACTS.hitsInPackage ? openCache(realm.memory, header, seat) : CLOSED;
    this.#pop = this.#cache.pop;
    this.#push = this.#cache.push;
  }

  /**
   * Makes an arena and attaches this agent. The first call in a realm also makes its memory;
   * later ones make more arenas in that memory.
   */
  static async create(options: ArenaOptions = {}): Promise<Arena> {
    const {
      maximumBytes,
      cachedOrders,
      capacity,
      burstCapacity,
      batch,
      transferCapacity,
      maximumWorkers,
      maximumChunks,
    } = settings(options);
    const realm = await ownRealm(maximumBytes);
    const seat = await enter(() => {
      const { mayWait } = realm;
      const header = call('Arena.create', {}, () =>
        glue.create(
          cachedOrders,
          capacity,
          burstCapacity,
          batch,
          transferCapacity,
          maximumWorkers,
          maximumChunks,
          mayWait,
        ),
      );
      return { header, seat: call('Arena.create', {}, () => glue.attach(header, mayWait)) };
    });
    return new Arena(realm, seat);
  }

  /** Attaches this agent to the arena of a handle, with a seat and a cache of its own. */
  static async attach(handle: ArenaHandle): Promise<Arena> {
    checkHandle(handle);
    const realm = await realmOf(handle);
    const header = handle.address;
    const seat = await enter(() => ({
      header,
      seat: call('Arena.attach', {}, () => glue.attach(header, realm.mayWait)),
    }));
    return new Arena(realm, seat);
  }

  /** The shared memory that the arena is in. */
  get memory(): WebAssembly.Memory {
    return this.#realm.memory;
  }

  /** The number of this agent's seat, from 0. */
  get slot(): number {
    return this.#slot;
  }

  /** What another agent attaches by: plain data, to be posted to it. */
  handle(): ArenaHandle {
    this.#checkAttached('handle()');
    const { memory, maximumBytes, module } = this.#realm;
    return makeHandle(memory, maximumBytes, this.#header, module);
  }

  /**
   * Allocates at least `bytes` bytes and returns their address, a multiple of 16 and never
   * negative. They hold whatever was there before. The size is rounded up to a power of two, to
   * which the address is aligned; above 524,288 bytes to whole chunks of 1 MiB.
   */
  alloc(bytes: number): number {
    return this.#pop(bytes) || this.#allocate('alloc', bytes, glue.alloc);
  }

  /** `alloc` of bytes that are all zero. Fresh memory is known to be, and is not touched. */
  allocZeroed(bytes: number): number {
    return this.#allocate('allocZeroed', bytes, glue.alloc_zeroed);
  }

  /** `alloc` at a multiple of `alignment`: a power of two, 1 ..= 1,048,576. */
  allocAligned(bytes: number, alignment: number): number {
    this.#checkAttached('allocAligned');
    if (!isUnsigned(bytes)) {
      throw badSize('allocAligned', bytes);
    }
    if (!isUnsigned(alignment)) {
      throw badAlignment('allocAligned', alignment);
    }
    return call(`allocAligned(${shown(bytes)}, ${shown(alignment)})`, { bytes }, () =>
      glue.alloc_aligned(this.#seat, bytes, alignment),
    );
  }

  /**
   * `alloc` in constant time, for code that must neither wait nor spin: the cache, one try of the
   * transfer cache, one of the heap, without growth. Throws `Busy` or `OutOfMemory` where these
   * have nothing; `reserve` beforehand makes sure that they do.
   */
  allocNowait(bytes: number): number {
    return this.#pop(bytes) || this.#allocateNowait(bytes);
  }

  /** `alloc` out of the memory that the arena has: never grows it. */
  allocNogrow(bytes: number): number {
    return this.#allocate('allocNogrow', bytes, glue.alloc_nogrow);
  }

  /**
   * Makes the object at `pointer` one of at least `bytes` bytes, where it is if that can be, else by
   * moving it, and returns its address. It keeps its bytes up to the smaller of both sizes. When it
   * throws, the object is as it was; a size of 0 is refused, and frees nothing. `realloc(0, bytes)`
   * allocates.
   */
  realloc(pointer: number, bytes: number): number {
    const address = this.#unsigned('realloc', pointer);
    if (!isUnsigned(bytes)) {
      throw badSize('realloc', bytes);
    }
    const details = { pointer: address, bytes };
    return call(`realloc(${shown(address)}, ${shown(bytes)})`, details, () =>
      glue.realloc_object(this.#seat, address, bytes),
    );
  }

  /**
   * Frees what any agent allocated in this arena. Every other pointer is refused, and nothing is
   * changed then; only 0 is nobody's, and freeing it does nothing. A free never fails because the
   * heap is busy: where this agent may not wait, it is deferred.
   */
  free(pointer: number): void {
    if (!this.#push(pointer)) {
      this.#free('free', pointer, glue.free_object);
    }
  }

  /** `free` in constant time, for code that must neither wait nor spin. */
  freeNowait(pointer: number): void {
    if (!this.#push(pointer)) {
      this.#free('freeNowait', pointer, glue.free_nowait);
    }
  }

  /**
   * Allocates `count` objects of at least `bytes` bytes each, a power of two of them, and returns
   * their addresses, lowest first. They are cut from one block of at most 524,288 bytes, so all are
   * allocated or none is. Each can be freed on its own. Bypasses the cache.
   */
  allocBulk(bytes: number, count: number): Uint32Array<ArrayBuffer> {
    this.#checkAttached('allocBulk');
    if (!isUnsigned(bytes)) {
      throw badSize('allocBulk', bytes);
    }
    const countLog2 = isUnsigned(count) ? Math.log2(count) : NaN;
    if (!Number.isInteger(countLog2)) {
      throw badCount('allocBulk', count, 'a power of two');
    }
    const first = call(`allocBulk(${shown(bytes)}, ${shown(count)})`, { bytes }, () =>
      glue.alloc_bulk(this.#seat, bytes, countLog2),
    );
    const stride = glue.bulk_stride(bytes);
    return Uint32Array.from({ length: count }, (_, index) => first + index * stride);
  }

  /**
   * Frees all pointers of an array, under one taking of the heap's lock for every 2,048 of them, and
   * bypasses the cache. Returns those that were refused, in the array's order: none when all is
   * well. One that is refused keeps no other from being freed. Zeroes are passed over. Throws, and
   * frees nothing, only when something in the array is no pointer at all.
   */
  freeBulk(pointers: ArrayLike<number>): BulkRefusal[] {
    this.#checkAttached('freeBulk');
    const addresses = unsignedAll('freeBulk', pointers);
    const refusals: BulkRefusal[] = [];
    for (let first = 0; first < addresses.length; first += PIECE) {
      const piece = addresses.subarray(first, first + PIECE);
      const passed = passedPointers(this.#realm.memory);
      passed.set(piece);
      if (glue.free_bulk(this.#seat, piece.length) === 0) {
        continue;
      }
      for (const [offset, pointer] of piece.entries()) {
        const reason = passed[offset]!;
        if (reason !== 0) {
          const index = first + offset;
          const name = `freeBulk: ${shown(pointer)} at index ${index}`;
          glue.explain_free(reason);
          refusals.push({ index, error: lastRefusal(name, { pointer }) });
        }
      }
    }
    return refusals;
  }

  /**
   * Fills this agent's cache until the next `count` allocations of `bytes` bytes find something
   * there, whatever happens to the heap meanwhile. Throws `NotCached` when the arena does not cache
   * the size, or not as many of it (`cachedOrders`, `burstCapacity`).
   */
  reserve(bytes: number, count: number): void {
    this.#checkAttached('reserve');
    if (!isUnsigned(bytes)) {
      throw badSize('reserve', bytes);
    }
    if (!isUnsigned(count)) {
      throw badCount('reserve', count, 'an integer of 0 ..= 0xffffffff');
    }
    call(`reserve(${shown(bytes)}, ${shown(count)})`, {}, () =>
      glue.reserve(this.#seat, bytes, count),
    );
  }

  /** Returns everything that this agent's cache holds to the heap. */
  flush(): void {
    this.#checkAttached('flush()');
    call('flush()', {}, () => glue.flush(this.#seat));
  }

  /**
   * Adds up to `chunks` chunks of 1 MiB to the arena ahead of time, and returns how many it got
   * before the memory's maximum or `maximumChunks` was reached.
   */
  grow(chunks: number): number {
    this.#checkAttached('grow');
    if (!isUnsigned(chunks)) {
      throw badCount('grow', chunks, 'an integer of 0 ..= 0xffffffff');
    }
    const more = call(`grow(${shown(chunks)})`, {}, () =>
      glue.grow(this.#header, chunks, this.#realm.mayWait),
    );
    return more - 1;
  }

  /**
   * Whether an address lies in memory that this arena has now: in an object, in a free block, or in
   * the allocator's own.
   */
  owns(pointer: number): boolean {
    const address = this.#unsigned('owns', pointer);
    return glue.owns(this.#seat, address);
  }

  /** Bytes that the object at `pointer` has: what was asked for, rounded up. */
  usableSize(pointer: number): number {
    const address = this.#unsigned('usableSize', pointer);
    const bytes = glue.usable_size(this.#seat, address);
    if (bytes === 0) {
      throw lastRefusal(`usableSize(${shown(address)})`, { pointer: address });
    }
    return bytes;
  }

  /**
   * A view of `length` bytes at `pointer` that covers them whatever has grown since. It is of the
   * shared memory itself: copy before handing it to what takes no shared views.
   */
  u8(pointer: number, length: number): Uint8Array {
    const address = this.#unsigned('u8', pointer);
    if (!isUnsigned(length)) {
      throw badSize('u8', length);
    }
    const buffer = covering(this.#realm.memory, address + length);
    if (buffer === undefined) {
      throw new ArenaError(
        'OutOfBounds',
        `u8(${shown(address)}, ${shown(length)}): the memory has only ` +
          `${shown(this.#realm.memory.buffer.byteLength)} bytes`,
        { pointer: address, bytes: length },
      );
    }
    return new Uint8Array(buffer, address, length);
  }

  /** Figures that add up; a sample while workers run. Stops nobody. */
  stats(): Stats {
    this.#checkAttached('stats()');
    call('stats()', {}, () => glue.stats(this.#header));
    return readFigures(this.#realm.memory, FACTS.stats);
  }

  /**
   * The whole state of the arena, copied out of the shared memory while others run: every word is
   * right for some recent moment, and not all for the same. Stops nobody. Give an earlier result
   * to have its arrays used again.
   */
  snapshot(into?: Snapshot): Snapshot {
    this.#checkAttached('snapshot()');
    return takeSnapshot(this.#realm.memory, this.#header, into);
  }

  /**
   * Proves that the arena is in order, or throws `Corrupt` with the first block that is not. For
   * moments when no call is in flight; it holds the heap's lock meanwhile.
   */
  verify(): Verification {
    this.#checkAttached('verify()');
    call('verify()', {}, () => glue.verify(this.#header, this.#realm.mayWait));
    return readFigures(this.#realm.memory, FACTS.verification);
  }

  /**
   * Lists the objects that are allocated in this arena, whoever allocated them, lowest first: what
   * agents that have ended had left is among them. A sample while others run, and stops nobody.
   */
  objects(): Generator<ArenaObject, void> {
    this.#checkAttached('objects()');
    return listObjects(this.#realm.memory, this.#header);
  }

  /**
   * Takes in what the agent in a seat of this arena left, which has ended without detaching: in every
   * arena of this memory. Resolves with what was found in this one, which is nothing when nobody sits
   * there, or somebody else was first. Rejects with `Live` unless the agent is known to have ended.
   * Need not be called: whoever sees the death does all this by itself.
   */
  async reap(slot: number): Promise<Reaped> {
    this.#checkAttached('reap');
    return reapSlot(this.#realm.memory, this.#header, slot);
  }

  /**
   * Calls `listener` whenever what an ended agent had left in this arena was taken in, by whichever
   * agent, until the function that comes back is called.
   */
  on(event: 'reap', listener: (report: ReapReport) => void): () => void {
    this.#checkAttached('on');
    if (event !== 'reap') {
      throw new ArenaError('InvalidOption', `on: the event is ${shown(event)}; there is "reap"`);
    }
    return identity().news.listen(this.#header, listener);
  }

  /**
   * In Node: watches a worker that was created before this agent first attached; later ones are
   * watched by themselves. In browsers it does nothing, since there no agent need be told of another.
   */
  watch(worker: NodeWorker): void {
    this.#checkAttached('watch');
    watchWorker(worker);
  }

  /**
   * In a page: answers for the agent in a seat of this arena that cannot make its own death known, an
   * AudioWorklet of this page. It then counts as living until this page ends, or until the function
   * that comes back is called, which says that it has ended: what it left is then reaped.
   */
  async vouch(slot: number): Promise<() => void> {
    this.#checkAttached('vouch');
    return vouchFor(this.#realm.memory, this.#header, slot);
  }

  /**
   * C's `malloc` and its kin, as another module on {@link memory} imports them: in C, Zig or
   * AssemblyScript. From this call on they serve this agent from this arena, until it is detached or
   * another arena's names are asked for. What they allocate is the arena's like all else. Where there
   * is no memory they answer 0; `free`, `realloc` and `malloc_usable_size` throw for what is no object.
   */
  cNames(): CNames {
    this.#checkAttached('cNames()');
    glue.serve_c(this.#seat);
    return cNames();
  }

  /** Gives the seat up: what it caches goes back to the heap. Every later call throws. */
  detach(): void {
    this.#checkAttached('detach()');
    const seat = this.#seat;
    call('detach()', {}, () => glue.detach(seat));
    this.#seat = 0;
    this.#cache = CLOSED;
    this.#pop = CLOSED.pop;
    this.#push = CLOSED.push;
    leave(seat);
  }

  #checkAttached(name: string): void {
    if (this.#seat === 0) {
      throw new ArenaError(
        'Detached',
        `${name}: this arena was detached; attach again by a handle`,
      );
    }
  }

  #unsigned(name: string, pointer: unknown): number {
    this.#checkAttached(name);
    return unsigned(name, pointer);
  }

  /** What an allocation by size returns, as `allocate` of the module answers. */
  #allocate(
    name: string,
    bytes: number,
    allocate: (seat: number, bytes: number) => number,
  ): number {
    this.#checkAttached(name);
    if (!isUnsigned(bytes)) {
      throw badSize(name, bytes);
    }
    const pointer = allocate(this.#seat, bytes) || this.#allocateAgain(name, bytes, allocate);
    this.#cache.cover(pointer);
    return pointer;
  }

  /** What an allocation that was refused returns when it is tried again, if it may be. */
  #allocateAgain(
    name: string,
    bytes: number,
    allocate: (seat: number, bytes: number) => number,
  ): number {
    return call(`${name}(${shown(bytes)})`, { bytes }, () => allocate(this.#seat, bytes));
  }

  /** What `allocNowait` returns without a hit. It is never tried again. */
  #allocateNowait(bytes: number): number {
    this.#checkAttached('allocNowait');
    if (!isUnsigned(bytes)) {
      throw badSize('allocNowait', bytes);
    }
    const pointer = glue.alloc_nowait(this.#seat, bytes);
    if (pointer === 0) {
      throw lastRefusal(`allocNowait(${shown(bytes)})`, { bytes });
    }
    this.#cache.cover(pointer);
    return pointer;
  }

  /** Frees what is not just pushed. */
  #free(name: string, pointer: number, free: (seat: number, pointer: number) => boolean): void {
    const address = this.#unsigned(name, pointer);
    if (!free(this.#seat, address)) {
      throw notFreed(name, address);
    }
    this.#cache.cover(address);
  }
}

/**
 * The error for a free that was refused. A function of its own, since Node 20 can hang at a thread's end
 * while it joins constant strings for a function that it optimises.
 */
function notFreed(name: string, pointer: number): ArenaError {
  return lastRefusal(`${name}(${shown(pointer)})`, { pointer });
}
