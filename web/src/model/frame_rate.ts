/** The display's rate: frames drawn in the last second, while frames are drawn at all. */
export class FrameRate {
  readonly #times: number[] = [];

  /** Notes a frame at `time`, in milliseconds, and gives the rate; 0 when `active` is false. */
  frame(time: number, active: boolean): number {
    if (!active) {
      this.#times.length = 0;
      return 0;
    }
    this.#times.push(time);
    while (this.#times[0]! < time - 1000) {
      this.#times.shift();
    }
    const elapsed = time - this.#times[0]!;
    return elapsed === 0 ? 0 : ((this.#times.length - 1) / elapsed) * 1000;
  }
}
