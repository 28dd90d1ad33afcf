/**
 * How often the heap is sampled. Every frame, while a sample is cheap; a heap of thousands of chunks
 * is sampled less often, so that the page itself stays quick.
 */

/** Milliseconds a frame that sampling may take, on average. */
const BUDGET = 5;

export class SamplePace {
  #framesToSkip = 0;

  /** Whether this frame takes a sample; to be asked once a frame. */
  isDue(): boolean {
    if (this.#framesToSkip > 0) {
      this.#framesToSkip -= 1;
      return false;
    }
    return true;
  }

  /** Notes what the last sample took, in milliseconds. */
  took(milliseconds: number): void {
    this.#framesToSkip = Math.floor(milliseconds / BUDGET);
  }
}
