/**
 * The class `Arena`: this agent's seat in an arena, and every call.
 *
 * An arena itself lives in shared memory and belongs to nobody; an `Arena` object is one seat in
 * it, with a cache of its own. Two objects in one realm are two seats.
 */
import { UNIT_BYTES } from './block.js';
import { ArenaError, shown } from './error.js';
import * as glue from './glue/warena_wasm.js';
import { checkHandle, makeHandle, type ArenaHandle } from './handle.js';
import { settings, type ArenaOptions } from './options.js';
import { call, enter, lastRefusal, leave, ownRealm, realmOf, type Realm } from './realm.js';
import { takeSnapshot, type Snapshot } from './snapshot.js';
import type { Stats, Verification } from './stats.js';
import { covering } from './view.js';

/** An agent's seat in an arena. */
export class Arena {
  readonly #realm: Realm;
  readonly #header: number;
  /** The address of the slot; 0 once detached. */
  #seat: number;
  readonly #slot: number;

  private constructor(realm: Realm, header: number, seat: number) {
    this.#realm = realm;
    this.#header = header;
    this.#seat = seat;
    this.#slot = glue.slot_number(seat);
  }

  /**
   * Makes an arena and attaches this agent. The first call in a realm also makes its memory;
   * later ones make more arenas in that memory.
   */
  static async create(options: ArenaOptions = {}): Promise<Arena> {
    const { maximumBytes, cachedOrders, capacity, batch, transferCapacity, maximumWorkers } =
      settings(options);
    const realm = await ownRealm(maximumBytes);
    const { mayWait } = realm;
    return enter('Arena.create', () => {
      const header = glue.create(
        cachedOrders,
        capacity,
        batch,
        transferCapacity,
        maximumWorkers,
        mayWait,
      );
      return new Arena(realm, header, glue.attach(header, mayWait));
    });
  }

  /** Attaches this agent to the arena of a handle, with a seat and a cache of its own. */
  static async attach(handle: ArenaHandle): Promise<Arena> {
    checkHandle(handle);
    const realm = await realmOf(handle);
    const { address } = handle;
    return enter(
      'Arena.attach',
      () => new Arena(realm, address, glue.attach(address, realm.mayWait)),
    );
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
   * Allocates at least `bytes` bytes, 1 ..= 524,288, and returns their address, a multiple of 16
   * and never negative. They hold whatever was there before.
   */
  alloc(bytes: number): number {
    if (this.#seat === 0 || typeof bytes !== 'number' || bytes >>> 0 !== bytes) {
      throw this.#badSize('alloc', bytes);
    }
    const pointer = glue.alloc(this.#seat, bytes);
    if (pointer === 0) {
      throw lastRefusal(`alloc(${shown(bytes)})`, { bytes });
    }
    return pointer;
  }

  /**
   * Frees what any agent's `alloc` on this arena returned. Every other pointer is refused, and
   * nothing is changed then; only 0 is nobody's, and freeing it does nothing.
   */
  free(pointer: number): void {
    const unsigned = this.#unsigned('free', pointer);
    if (!glue.free(this.#seat, unsigned)) {
      throw lastRefusal(`free(${shown(unsigned)})`, { pointer: unsigned });
    }
  }

  /**
   * A view of `length` bytes at `pointer` that covers them whatever has grown since. It is of the
   * shared memory itself: copy before handing it to what takes no shared views.
   */
  u8(pointer: number, length: number): Uint8Array {
    const unsigned = this.#unsigned('u8', pointer);
    if (typeof length !== 'number' || length >>> 0 !== length) {
      throw this.#badSize('u8', length);
    }
    const buffer = covering(this.#realm.memory, unsigned + length);
    if (buffer === undefined) {
      throw new ArenaError(
        'OutOfBounds',
        `u8(${shown(unsigned)}, ${shown(length)}): the memory has only ` +
          `${shown(this.#realm.memory.buffer.byteLength)} bytes`,
        { pointer: unsigned, bytes: length },
      );
    }
    return new Uint8Array(buffer, unsigned, length);
  }

  /** Figures that add up; a sample while workers run. Stops nobody. */
  stats(): Stats {
    this.#checkAttached('stats()');
    return call('stats()', () => glue.stats(this.#header));
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
    return call('verify()', () => glue.verify(this.#header, this.#realm.mayWait));
  }

  /** Gives the seat up: what it caches goes back to the heap. Every later call throws. */
  detach(): void {
    this.#checkAttached('detach()');
    call('detach()', () => glue.detach(this.#seat));
    this.#seat = 0;
    leave();
  }

  #checkAttached(name: string): void {
    if (this.#seat === 0) {
      throw new ArenaError(
        'Detached',
        `${name}: this arena was detached; attach again by a handle`,
      );
    }
  }

  #badSize(name: string, bytes: unknown): ArenaError {
    this.#checkAttached(name);
    return new ArenaError(
      'InvalidSize',
      `${name}: the size is ${shown(bytes)}; it must be an integer of 0 ..= 0xffffffff`,
      typeof bytes === 'number' ? { bytes } : {},
    );
  }

  /** A pointer in either form as an unsigned number: WebAssembly hands the upper half out negative. */
  #unsigned(name: string, pointer: unknown): number {
    this.#checkAttached(name);
    if (typeof pointer !== 'number' || (pointer >>> 0 !== pointer && (pointer | 0) !== pointer)) {
      throw new ArenaError(
        'InvalidPointer',
        `${name}: the pointer is ${shown(pointer)}; it must be a 32-bit integer, as alloc returns it ` +
          `(a multiple of ${UNIT_BYTES})`,
        typeof pointer === 'number' ? { pointer } : {},
      );
    }
    return pointer >>> 0;
  }
}
