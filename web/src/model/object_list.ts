/**
 * A list of live objects, up to a fixed number, in an array of shared words: so that the workload
 * makes no garbage for the JavaScript heap while it measures another one, a list is handed to
 * another worker where it stands, and the page reads what a worker held that is no more.
 *
 * ```
 *   length  freed | pointer bytes sequence | pointer bytes sequence …
 * ```
 *
 * An object enters the list once it is allocated, and counts as freed just before it is. So at
 * whatever instant a worker is ended, all that the list holds is allocated, and at most the one
 * object that the worker was just allocating or freeing is missing.
 */

const LENGTH = 0;
const FREED = 1;
const FIRST_OBJECT = 2;
/** Words an object takes: pointer, bytes, sequence number of its stamp. */
const OBJECT_WORDS = 3;

/** Words that a list for up to `capacity` objects takes. */
export function listWords(capacity: number): number {
  return FIRST_OBJECT + capacity * OBJECT_WORDS;
}

export class ObjectList {
  readonly #words: Int32Array;
  readonly #at: number;

  /** The list that stands in `words` from `at` on; zeroes are an empty one. */
  constructor(words: Int32Array, at: number) {
    this.#words = words;
    this.#at = at;
  }

  /** Room for one empty list of up to `capacity` objects. */
  static makeRoom(capacity: number): SharedArrayBuffer {
    return new SharedArrayBuffer(listWords(capacity) * 4);
  }

  /** The list that fills a buffer. */
  static in(room: SharedArrayBuffer): ObjectList {
    return new ObjectList(new Int32Array(room), 0);
  }

  /** Objects that entered since the list was cleared. */
  get length(): number {
    return this.#words[this.#at + LENGTH]!;
  }

  /** How many of them are freed: the first ones. */
  get freed(): number {
    return this.#words[this.#at + FREED]!;
  }

  push(pointer: number, bytes: number, sequence: number): void {
    const index = this.length;
    const at = this.#object(index);
    this.#words[at] = pointer;
    this.#words[at + 1] = bytes;
    this.#words[at + 2] = sequence;
    this.#words[this.#at + LENGTH] = index + 1;
  }

  /** The index of the object that is to be freed next, which counts as freed from now on. */
  takeNext(): number {
    return this.#words[this.#at + FREED]!++;
  }

  pointer(index: number): number {
    return this.#words[this.#object(index)]! >>> 0;
  }

  bytes(index: number): number {
    return this.#words[this.#object(index) + 1]! >>> 0;
  }

  sequence(index: number): number {
    return this.#words[this.#object(index) + 2]! >>> 0;
  }

  clear(): void {
    // The length first: in between, the list must not hold again what is freed.
    this.#words[this.#at + LENGTH] = 0;
    this.#words[this.#at + FREED] = 0;
  }

  #object(index: number): number {
    return this.#at + FIRST_OBJECT + index * OBJECT_WORDS;
  }
}
