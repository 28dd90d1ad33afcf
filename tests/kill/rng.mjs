/** A small generator of random numbers with a seed, so that a run's choices can be had again. */
export class Rng {
  #state;

  constructor(seed) {
    this.#state = Math.imul(seed + 1, 0x9e37_79b1) >>> 0 || 1;
  }

  /** 1 ..= 2^32 − 1 (xorshift). */
  word() {
    let state = this.#state;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.#state = state >>> 0;
    return this.#state;
  }

  /** 0 ..= limit − 1. */
  below(limit) {
    return this.word() % limit;
  }

  /** One of an array. */
  pick(array) {
    return array[this.below(array.length)];
  }

  /** True once in `times`, on average. */
  once(times) {
    return this.below(times) === 0;
  }
}
