/**
 * A small pseudo-random generator (xorshift32) for request sizes: seeded by the worker's number, so
 * that a run can be repeated, and quick enough not to drown the allocator that is being watched.
 */
export class Random {
  #state: number;

  constructor(seed: number) {
    // The state must never be 0; the constant spreads small seeds over the word.
    this.#state = Math.imul(seed + 1, 0x9e3779b1) | 1;
  }

  /** An unsigned 32-bit number. */
  next(): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x;
    return x >>> 0;
  }
}
