/** The list of workers. Cards are made anew when the workers, the arena or the colours change. */
import { AT_WORK, type State, type WorkerReading } from '../model/state.ts';
import { make } from './dom.ts';
import { WorkerCard, workerInSlot, type WorkerActions } from './worker_card.ts';

export class WorkersView {
  readonly #list: HTMLElement;
  readonly #actions: WorkerActions;
  #cards: WorkerCard[] = [];
  #workers: readonly WorkerReading[] = [];
  #shown = '';

  /** `actions` are what the buttons of a card do. */
  constructor(list: HTMLElement, actions: WorkerActions) {
    this.#list = list;
    this.#actions = actions;
  }

  /** `colours` are the CSS colours of all orders; `figures` is true when the figures are due. */
  update(state: State, colours: readonly string[], figures: boolean): void {
    const { workers, snapshot, settings, phase, deaths } = state;
    const orders = snapshot?.config.cachedOrders ?? 0;
    const shown = JSON.stringify([orders, colours]);
    const fresh = shown !== this.#shown || workers !== this.#workers;
    if (fresh) {
      this.#shown = shown;
      this.#workers = workers;
      this.#cards = workers.map(
        (worker) => new WorkerCard(worker, colours.slice(0, orders), this.#actions),
      );
      this.#list.replaceChildren(...this.#cards.map((card) => card.element));
    }
    if (workers.length === 0) {
      const idle = `Start runs ${settings.workers} workers on one shared memory. Each has a cache of its own, shown here.`;
      if (fresh || this.#list.textContent !== idle) {
        this.#list.replaceChildren(make('p', { class: 'panel empty' }, idle));
      }
      return;
    }
    const canKill = AT_WORK.includes(phase);
    workers.forEach((worker, index) => {
      const { life, slot } = worker;
      const takenBefore = life === 'living' && deaths.some((death) => death.slot === slot);
      this.#cards[index]!.updateLife(worker, canKill, takenBefore);
    });
    if (snapshot === undefined) {
      return;
    }
    workers.forEach((worker, index) => {
      const entry = workerInSlot(snapshot, worker.slot);
      if (entry !== undefined) {
        this.#cards[index]!.drawCache(entry);
        if (figures || fresh) {
          this.#cards[index]!.updateFigures(worker, entry);
        }
      }
    });
  }
}
