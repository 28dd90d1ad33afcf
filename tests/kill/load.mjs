/**
 * The mixed load of one worker: every call of the package, on objects of 16 bytes to some MiB, each
 * stamped at both ends and checked whenever it is freed, resized or received from another worker.
 */
import { SMALLEST, check, read, stamp } from './stamp.mjs';

/** Bytes that a worker holds at most, but for one huge object. */
export const MOST_HELD = 3 << 20;
/** Bytes of the largest object. */
export const LARGEST = 3 << 20;
/** Objects of one bulk at most. */
const BULK = 8;

/** Refusals that a call which does not wait, or does not grow, may answer with. */
const SPARSE = ['Busy', 'OutOfMemory'];

export class Load {
  #rng;
  #ledger;
  #exchange;
  /** Called between any two actions: the moments at which a worker ends by itself. */
  #mark;
  #onRefused;
  #arena;

  constructor({ rng, ledger, exchange, mark, onRefused }) {
    this.#rng = rng;
    this.#ledger = ledger;
    this.#exchange = exchange;
    this.#mark = mark;
    this.#onRefused = onRefused;
  }

  /** Does one thing, from one of the worker's seats. */
  step(arena) {
    this.#arena = arena;
    const turn = this.#rng.below(100);
    const held = this.#ledger.objects();
    if (turn < 42) {
      this.#allocate(held);
    } else if (turn < 72) {
      this.#free(held);
    } else if (turn < 82) {
      this.#swap(held);
    } else if (turn < 89) {
      this.#resize(held);
    } else if (turn < 94) {
      this.#allocateMany();
    } else if (turn < 97) {
      this.#freeMany(held);
    } else if (turn < 99) {
      arena.flush();
    } else {
      this.#look();
    }
  }

  /** Frees all that the worker holds. */
  finish(arena) {
    this.#arena = arena;
    for (let held; (held = this.#ledger.objects()).length > 0;) {
      this.#free(held);
    }
  }

  #size() {
    const rng = this.#rng;
    const [least, most] = rng.pick([
      [16, 128],
      [16, 2048],
      [16, 2048],
      [2049, 16_384],
      [16_385, 600 << 10],
      rng.once(6) ? [600 << 10, LARGEST] : [16, 64],
    ]);
    return least + rng.below(most - least + 1);
  }

  #mayHold(held, bytes) {
    const sum = held.reduce((total, object) => total + object.bytes, 0);
    return sum + bytes <= MOST_HELD + (sum < MOST_HELD / 2 ? LARGEST : 0);
  }

  #enter(pointer, bytes) {
    const object = { pointer, bytes, mark: this.#rng.word() };
    this.#mark();
    stamp(this.#arena, object);
    this.#mark();
    this.#ledger.enter(object);
  }

  #allocate(held) {
    const bytes = this.#size();
    if (this.#ledger.room === 0 || !this.#mayHold(held, bytes)) {
      this.#free(held);
      return;
    }
    const arena = this.#arena;
    const call = this.#rng.pick([
      () => arena.alloc(bytes),
      () => arena.alloc(bytes),
      () => arena.alloc(bytes),
      () => this.#zeroed(bytes),
      () => this.#aligned(bytes),
      () => this.#sparsely(() => arena.allocNowait(bytes)),
      () => this.#sparsely(() => arena.allocNogrow(bytes)),
    ]);
    this.#mark();
    const pointer = call();
    if (pointer !== undefined) {
      this.#enter(pointer, bytes);
    }
  }

  #zeroed(bytes) {
    const pointer = this.#arena.allocZeroed(bytes);
    if (this.#arena.u8(pointer, Math.min(bytes, 4096)).some((byte) => byte !== 0)) {
      throw new Error(`allocZeroed(${bytes}) at 0x${pointer.toString(16)} is not zero`);
    }
    return pointer;
  }

  #aligned(bytes) {
    const alignment = 2 ** this.#rng.below(17);
    const pointer = this.#arena.allocAligned(bytes, alignment);
    if (pointer % alignment !== 0) {
      throw new Error(`allocAligned(${bytes}, ${alignment}) is 0x${pointer.toString(16)}`);
    }
    return pointer;
  }

  /** What the call returns, or undefined when it is refused for a reason that it may have. */
  #sparsely(call) {
    try {
      return call();
    } catch (error) {
      if (!SPARSE.includes(error.code)) {
        throw error;
      }
      this.#onRefused();
      return undefined;
    }
  }

  #free(held) {
    if (held.length === 0) {
      return;
    }
    const object = this.#rng.pick(held);
    check(this.#arena, object);
    this.#ledger.leave(object);
    this.#mark();
    if (this.#rng.once(4)) {
      this.#arena.freeNowait(object.pointer);
    } else {
      this.#arena.free(object.pointer);
    }
    this.#mark();
    this.#ledger.left();
  }

  #swap(held) {
    const given = held.length > 0 ? this.#rng.pick(held) : undefined;
    if (given !== undefined) {
      check(this.#arena, given);
      this.#ledger.leave(given);
    }
    this.#mark();
    const pointer = this.#exchange.swap(this.#rng, given?.pointer ?? 0);
    this.#mark();
    if (pointer !== 0) {
      this.#ledger.enter(read(this.#arena, pointer));
    }
    this.#ledger.left();
  }

  #resize(held) {
    const bytes = this.#size();
    if (held.length === 0 || !this.#mayHold(held, bytes)) {
      return;
    }
    const object = this.#rng.pick(held);
    check(this.#arena, object);
    this.#ledger.leave(object);
    this.#mark();
    const pointer = this.#arena.realloc(object.pointer, bytes);
    const moved = { ...object, pointer, bytes: Math.min(bytes, object.bytes) };
    const words = new Uint32Array(this.#arena.u8(pointer, SMALLEST).buffer, pointer, 2);
    if (words[0] !== object.bytes || words[1] !== moved.mark) {
      throw new Error(`realloc to 0x${pointer.toString(16)} lost what was there`);
    }
    this.#enter(pointer, bytes);
    this.#ledger.left();
  }

  #allocateMany() {
    if (this.#ledger.room < BULK) {
      return;
    }
    const bytes = SMALLEST + this.#rng.below(3000);
    this.#mark();
    for (const pointer of this.#arena.allocBulk(bytes, BULK)) {
      this.#enter(pointer, bytes);
    }
  }

  #freeMany(held) {
    const some = held.slice(0, BULK);
    some.forEach((object) => check(this.#arena, object));
    this.#ledger.leave(...some);
    this.#mark();
    const refused = this.#arena.freeBulk(some.map(({ pointer }) => pointer));
    if (refused.length > 0) {
      throw refused[0].error;
    }
    this.#ledger.left();
  }

  #look() {
    const { freeBytes, ownedBytes } = this.#arena.stats();
    if (freeBytes > ownedBytes) {
      throw new Error(`${freeBytes} bytes are free of ${ownedBytes}`);
    }
    this.#sparsely(() => this.#arena.reserve(64, 4));
  }
}
