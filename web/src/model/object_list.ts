/**
 * A list of live objects, up to a fixed number, in one array of words: so that the workload makes
 * no garbage for the JavaScript heap while it measures another one, and a list is handed to another
 * worker by one copy.
 */

/** Words an object takes: pointer, bytes, sequence number of its stamp. */
export const OBJECT_WORDS = 3;

export class ObjectList {
  readonly #words: Int32Array;
  #length = 0;

  /** An empty list for up to `capacity` objects. */
  constructor(capacity: number) {
    this.#words = new Int32Array(capacity * OBJECT_WORDS);
  }

  get length(): number {
    return this.#length;
  }

  push(pointer: number, bytes: number, sequence: number): void {
    const at = this.#length * OBJECT_WORDS;
    this.#words[at] = pointer;
    this.#words[at + 1] = bytes;
    this.#words[at + 2] = sequence;
    this.#length += 1;
  }

  pointer(index: number): number {
    return this.#words[index * OBJECT_WORDS]! >>> 0;
  }

  bytes(index: number): number {
    return this.#words[index * OBJECT_WORDS + 1]! >>> 0;
  }

  sequence(index: number): number {
    return this.#words[index * OBJECT_WORDS + 2]! >>> 0;
  }

  clear(): void {
    this.#length = 0;
  }

  /** Copies all objects to `words` from `at` on. */
  writeTo(words: Int32Array, at: number): void {
    words.set(this.#words.subarray(0, this.#length * OBJECT_WORDS), at);
  }

  /** Becomes the `length` objects that stand in `words` from `at` on. */
  readFrom(words: Int32Array, at: number, length: number): void {
    this.#words.set(words.subarray(at, at + length * OBJECT_WORDS));
    this.#length = length;
  }
}
