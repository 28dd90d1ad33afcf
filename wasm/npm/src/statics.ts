/**
 * Words of the module's own static memory, through which the agents of one memory find each other
 * before any of them can call the module. All accesses are atomic; where each word is, the module
 * says (FACTS.agents).
 */
import { INITIAL_PAGES } from './generated/facts.js';
import { PAGE_BYTES } from './options.js';

/** Milliseconds between two looks at a word where the engine cannot tell of a change. */
const LOOK = 5;

/** @internal */
export class Statics {
  readonly #words: Int32Array;
  /** A word that nobody else knows, and so nobody wakes from. */
  readonly #private = new Int32Array(new SharedArrayBuffer(4));

  constructor(memory: WebAssembly.Memory) {
    // Static memory is there from the start, so this view never needs to be made again.
    this.#words = new Int32Array(memory.buffer, 0, (INITIAL_PAGES * PAGE_BYTES) / 4);
  }

  load(address: number): number {
    return Atomics.load(this.#words, address / 4) >>> 0;
  }

  store(address: number, value: number): void {
    Atomics.store(this.#words, address / 4, value);
  }

  /** Adds 1; the sum. */
  increment(address: number): number {
    return (Atomics.add(this.#words, address / 4, 1) + 1) >>> 0;
  }

  /** Puts `value` where `expected` is; whether that was there. */
  replace(address: number, expected: number, value: number): boolean {
    return Atomics.compareExchange(this.#words, address / 4, expected, value) >>> 0 === expected;
  }

  /** Wakes all who wait for a change of a word. */
  notify(address: number): void {
    Atomics.notify(this.#words, address / 4);
  }

  /** Blocks this agent, which may, until a word may have changed, or for some milliseconds. */
  block(address: number, value: number, milliseconds: number): void {
    Atomics.wait(this.#words, address / 4, value | 0, milliseconds);
  }

  /** Blocks this agent, which may, for some milliseconds. */
  sleep(milliseconds: number): void {
    Atomics.wait(this.#private, 0, 0, milliseconds);
  }

  /** Resolves when a word may have changed, or after some milliseconds. Blocks nobody. */
  async changed(address: number, value: number, milliseconds: number): Promise<void> {
    if (!('waitAsync' in Atomics)) {
      await pause(Math.min(LOOK, milliseconds));
      return;
    }
    const wait = Atomics.waitAsync(this.#words, address / 4, value | 0, milliseconds);
    if (!wait.async) {
      return;
    }
    // In Node such a wait alone would not keep the process, and the caller's promise would be lost.
    const kept = 'setInterval' in globalThis ? setInterval(() => {}, milliseconds) : undefined;
    try {
      await wait.value;
    } finally {
      if (kept !== undefined) {
        clearInterval(kept);
      }
    }
  }
}

/** Resolves after some milliseconds; at once in a worklet, which has no timers. @internal */
export function pause(milliseconds: number): Promise<void> {
  return 'setTimeout' in globalThis
    ? new Promise((resolve) => setTimeout(resolve, milliseconds))
    : Promise.resolve();
}
