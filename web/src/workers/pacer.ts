/**
 * Slows a worker down to the pace that is set on the page, and notices the stop. At full speed an
 * operation costs an addition here, and every so many look whether to go on; slower, the worker
 * sleeps until its next operation is due.
 */
import type { ControlBlock } from '../model/control_block.ts';

/** A worker that is late by more than this, in milliseconds, does not catch up. */
const LARGEST_DEBT = 100;
/** Operations at full speed between two looks at the command; a power of two. */
const LOOK_PERIOD = 32;

/** The pace of one worker. */
export class Pacer {
  readonly #control: ControlBlock;
  readonly #beforeSleep: () => void;
  #pace = 0;
  #spent = 0;
  #due = 0;

  /** `beforeSleep` is called before each sleep, to publish figures that would be old after it. */
  constructor(control: ControlBlock, beforeSleep: () => void) {
    this.#control = control;
    this.#beforeSleep = beforeSleep;
  }

  /** Reads the pace; to be called once a cycle, as full speed looks at it no more often. */
  refresh(): void {
    const pace = this.#control.pace;
    if (pace !== this.#pace) {
      this.#pace = pace;
      this.#due = performance.now();
    }
  }

  /** Accounts for one operation. False when the worker is to stop before the next. */
  spend(): boolean {
    if (this.#pace !== 0) {
      return this.#spendSlowly();
    }
    this.#spent += 1;
    return this.#spent % LOOK_PERIOD !== 0 || this.#control.running;
  }

  #spendSlowly(): boolean {
    this.#beforeSleep();
    this.#due = Math.max(this.#due + 1000 / this.#pace, performance.now() - LARGEST_DEBT);
    while (this.#control.running) {
      const left = this.#due - performance.now();
      if (left <= 0) {
        return true;
      }
      this.#control.sleep(left);
      this.refresh();
    }
    return false;
  }
}
