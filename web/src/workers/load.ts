/** One run of the crew: workers join it, and leave it when they are done, have failed or were ended. */
export class Load {
  /** Cycles that each is to run. */
  readonly cycles: number;
  readonly #onFailure: () => void;
  readonly #runs = new Set<Promise<void>>();
  readonly #stopped: Promise<void>;
  #stop: () => void = () => undefined;
  readonly #failures: unknown[] = [];

  /** `onFailure` is called when a worker has failed. */
  constructor(cycles: number, onFailure: () => void) {
    this.cycles = cycles;
    this.#onFailure = onFailure;
    this.#stopped = new Promise((resolve) => (this.#stop = resolve));
  }

  /** Adds a worker's run. */
  join(run: Promise<unknown>): void {
    const left = run
      .then(
        () => undefined,
        (failure: unknown) => {
          this.#failures.push(failure);
          this.#onFailure();
        },
      )
      .finally(() => this.#runs.delete(left));
    this.#runs.add(left);
  }

  /** Says that the workers were told to stop. */
  stop(): void {
    this.#stop();
  }

  /** Resolves when nobody runs any more; rejects with the first failure. */
  async over(): Promise<void> {
    if (this.cycles === Number.POSITIVE_INFINITY) {
      // It goes on without anybody in it, too: somebody may join.
      await this.#stopped;
    }
    while (this.#runs.size > 0) {
      await Promise.all(this.#runs);
    }
    if (this.#failures.length > 0) {
      throw this.#failures[0];
    }
  }
}
