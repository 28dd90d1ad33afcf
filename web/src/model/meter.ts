/**
 * A meter turns a counter that only grows into a rate, and keeps the rates of the last seconds for a
 * sparkline. Counters are 32 bits wide and wrap; differences are taken modulo 2^32.
 */

/** Rates that a meter remembers. */
export const HISTORY = 90;

/** The rate shown is the mean of this many samples, so that slow counters do not flicker. */
const WINDOW = 8;

/** How far `now` is ahead of `before` on a 32-bit counter that wraps. */
export function counterAdvance(before: number, now: number): number {
  return (now - before) >>> 0;
}

/** The rate of one counter, now and over the last seconds. */
export class Meter {
  /** Rates, a second each, oldest first. */
  readonly history: number[] = [];
  readonly #samples: { time: number; advance: number }[] = [];
  #last: { time: number; counter: number } | undefined;

  /** Counts a second over the last samples; 0 before there are two. */
  rate = 0;

  /** Leaves out the time until the next sample, in which nobody counted. */
  pause(): void {
    this.#last = undefined;
    this.#samples.length = 0;
    this.rate = 0;
  }

  /** Notes that the counter stood at `counter` at `time`, in milliseconds. */
  sample(time: number, counter: number): void {
    const last = this.#last;
    this.#last = { time, counter };
    if (last === undefined || time <= last.time) {
      return;
    }
    this.#samples.push({ time: time - last.time, advance: counterAdvance(last.counter, counter) });
    if (this.#samples.length > WINDOW) {
      this.#samples.shift();
    }
    const elapsed = this.#samples.reduce((sum, sample) => sum + sample.time, 0);
    const advance = this.#samples.reduce((sum, sample) => sum + sample.advance, 0);
    this.rate = (advance / elapsed) * 1000;
    this.history.push(this.rate);
    if (this.history.length > HISTORY) {
      this.history.shift();
    }
  }
}
