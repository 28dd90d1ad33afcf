/**
 * What a worker shares with whoever runs it, outside of the arena, so that it is there after its death:
 * words of control, and its ledger, which says what it holds.
 *
 * | part of the ledger | meaning |
 * | --- | --- |
 * | entry: pointer, bytes, stamp | an object in its hands; pointer 0: none. Written last, cleared first |
 * | leaving | pointers that it is freeing, resizing or handing over |
 *
 * A death leaves an object that was just allocated in no entry, and one that is leaving allocated,
 * free, or somebody else's.
 */
const CONTROL = {
  /** Whether it is to pause, and does. */
  pause: 0,
  paused: 1,
  /** How many seats it has, and the number of one of them. */
  seats: 2,
  slot: 3,
  /** Steps that it has done. */
  steps: 4,
  /** Marks until it ends by itself; 0: it does not. */
  quit: 5,
  /** Whether it is to free all and detach. */
  end: 6,
  /** The last epoch in which it has begun and done a step; of the director, the epoch. */
  epoch: 7,
  /** Calls that were refused as they may be. */
  refused: 8,
};
const CONTROL_BYTES = 64;
/** Behind the words: times, 64 bits each. */
const TIMES = { wentOn: 5, longest: 6 };
const LEAVING = 16;
const ENTRY_WORDS = 3;

/** Bytes of all of it, with a ledger of so many entries. */
export const bytesFor = (entries) => CONTROL_BYTES + (LEAVING + entries * ENTRY_WORDS) * 4;

/** The control words of a worker. */
export class Control {
  #words;
  #times;

  constructor(buffer) {
    this.#words = new Int32Array(buffer, 0, CONTROL_BYTES / 4);
    this.#times = new Float64Array(buffer, 0, CONTROL_BYTES / 8);
  }

  get(name) {
    return Atomics.load(this.#words, CONTROL[name]);
  }

  set(name, value) {
    Atomics.store(this.#words, CONTROL[name], value);
  }

  add(name, amount) {
    Atomics.add(this.#words, CONTROL[name], amount);
  }

  /** Milliseconds: when a step was first done that had begun in this epoch; the longest of all. */
  getTime(name) {
    return this.#times[TIMES[name]];
  }

  setTime(name, milliseconds) {
    this.#times[TIMES[name]] = milliseconds;
  }

  /** For the worker: sleeps for as long as it is to pause. Returns whether it did. */
  rest() {
    if (this.get('pause') === 0) {
      return false;
    }
    this.set('paused', 1);
    while (this.get('pause') !== 0) {
      Atomics.wait(this.#words, CONTROL.pause, 1, 1000);
    }
    this.set('paused', 0);
    return true;
  }

  wake() {
    this.set('pause', 0);
    Atomics.notify(this.#words, CONTROL.pause);
  }
}

/** The ledger of a worker. */
export class Ledger {
  #entries;
  #leaving;

  constructor(buffer) {
    this.#leaving = new Uint32Array(buffer, CONTROL_BYTES, LEAVING);
    this.#entries = new Uint32Array(buffer, CONTROL_BYTES + LEAVING * 4);
  }

  /** How many more entries there is room for. */
  get room() {
    return this.#entries.length / ENTRY_WORDS - this.objects().length;
  }

  enter({ pointer, bytes, mark }) {
    const index = this.#find(0);
    this.#entries[index + 1] = bytes;
    this.#entries[index + 2] = mark;
    Atomics.store(this.#entries, index, pointer);
  }

  /** All objects that are entered. */
  objects() {
    const objects = [];
    for (let index = 0; index < this.#entries.length; index += ENTRY_WORDS) {
      const pointer = Atomics.load(this.#entries, index);
      if (pointer !== 0) {
        const [bytes, mark] = [this.#entries[index + 1], this.#entries[index + 2]];
        objects.push({ pointer, bytes, mark });
      }
    }
    return objects;
  }

  /** Makes entered objects leaving ones. */
  leave(...objects) {
    objects.forEach(({ pointer }, place) => {
      Atomics.store(this.#leaving, place, pointer);
      Atomics.store(this.#entries, this.#find(pointer), 0);
    });
  }

  /** They have left. */
  left() {
    this.#leaving.fill(0);
  }

  leaving() {
    return [...this.#leaving].filter((pointer) => pointer !== 0);
  }

  #find(pointer) {
    for (let index = 0; index < this.#entries.length; index += ENTRY_WORDS) {
      if (Atomics.load(this.#entries, index) === pointer) {
        return index;
      }
    }
    throw new Error(pointer === 0 ? 'the ledger is full' : 'the ledger lacks an object');
  }
}

/** A table of pointers through which workers hand objects to each other. */
export class Exchange {
  static BYTES = 64;
  #table;

  constructor(buffer) {
    this.#table = new Uint32Array(buffer);
  }

  /** Puts a pointer, or 0, somewhere, and takes what was there. */
  swap(rng, pointer) {
    return Atomics.exchange(this.#table, rng.below(this.#table.length), pointer);
  }

  pointers() {
    return [...this.#table].filter((pointer) => pointer !== 0);
  }

  clear() {
    this.#table.fill(0);
  }
}
