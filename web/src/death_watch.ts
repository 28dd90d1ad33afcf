/**
 * Awaits that the arena has taken in what workers left which were terminated.
 *
 * The arena finds their deaths by itself, and reports what it took in under the number of the agent,
 * which the page does not know. But a report comes before anything else can happen in the page: so it
 * is about that one of the awaited workers whose slot has become free.
 */
import type { Arena, ReapReport, Reaped, Snapshot } from 'warena';

interface Awaited {
  slot: number;
  resolve: (found: Reaped) => void;
}

export class DeathWatch {
  readonly #awaited = new Set<Awaited>();
  readonly #sample: () => Snapshot;

  /** `sample` takes a snapshot of the arena. */
  constructor(arena: Arena, sample: () => Snapshot) {
    this.#sample = sample;
    arena.on('reap', (report) => this.#hear(report));
  }

  /** What was taken in of the worker in `slot`, which was terminated just now. */
  reaped(slot: number): Promise<Reaped> {
    return new Promise((resolve) => this.#awaited.add({ slot, resolve }));
  }

  #hear(report: ReapReport): void {
    const { workers } = this.#sample();
    const isFree = (slot: number) => workers[slot]?.attached !== true;
    const heard = [...this.#awaited].find(({ slot }) => isFree(slot));
    // None: a crew that had failed was ended as a whole, with its arena.
    if (heard !== undefined) {
      this.#awaited.delete(heard);
      heard.resolve(report);
    }
  }
}
