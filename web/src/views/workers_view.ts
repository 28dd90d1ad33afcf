/** The list of workers. Cards are made anew when the workers, the arena or the colours change. */
import type { State } from '../model/state.ts';
import { make } from './dom.ts';
import { WorkerCard, workerInSlot } from './worker_card.ts';

export class WorkersView {
  readonly #list: HTMLElement;
  #cards: WorkerCard[] = [];
  #shown = '';

  constructor(list: HTMLElement) {
    this.#list = list;
  }

  /** `colours` are the CSS colours of all orders; `figures` is true when the figures are due. */
  update({ workers, snapshot, settings }: State, colours: readonly string[], figures: boolean): void {
    const orders = snapshot?.config.cachedOrders ?? 0;
    const shown = JSON.stringify([workers.map(({ slot }) => slot), orders, colours]);
    const fresh = shown !== this.#shown;
    if (fresh) {
      this.#shown = shown;
      this.#cards = workers.map((worker) => new WorkerCard(worker, colours.slice(0, orders)));
      this.#list.replaceChildren(...this.#cards.map((card) => card.element));
    }
    if (workers.length === 0) {
      const idle = `Start runs ${settings.workers} workers on one shared memory. Each has a cache of its own, shown here.`;
      if (fresh || this.#list.textContent !== idle) {
        this.#list.replaceChildren(make('p', { class: 'panel empty' }, idle));
      }
      return;
    }
    if (snapshot === undefined) {
      return;
    }
    const { capacity } = snapshot.config;
    workers.forEach((worker, index) => {
      const entry = workerInSlot(snapshot, worker.slot);
      if (entry !== undefined) {
        this.#cards[index]!.drawCache(entry, capacity);
        if (figures || fresh) {
          this.#cards[index]!.updateFigures(worker, entry, capacity);
        }
      }
    });
  }
}
