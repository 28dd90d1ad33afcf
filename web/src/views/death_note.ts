/** The part of a worker's card that says how it ended: what was reaped, what is left, what next. */
import {
  locksLabel,
  millisecondsLabel,
  objectsLabel,
  plural,
  type Death,
} from '../model/death.ts';
import { bytesOf } from '../model/held_objects.ts';
import type { Life, WorkerReading } from '../model/state.ts';
import { CounterList } from './counter_list.ts';
import { actionButton, make, setAttribute, setText } from './dom.ts';

const FOUND = [
  { key: 'locks', name: 'Locks recovered', title: 'Locks that it had held when it ended' },
  { key: 'returned', name: 'Returned', title: 'Objects that it had cached or was moving' },
  { key: 'listed', name: 'Lists rebuilt', title: 'Free blocks that were listed anew' },
  { key: 'reclaimed', name: 'Chunks reclaimed', title: 'Chunks that it was taking or giving back' },
  { key: 'left', name: 'Left allocated', title: 'Objects that its program had allocated' },
];

/** What can be done after a death. */
export interface DeathActions {
  startAnother: (worker: WorkerReading) => void;
  freeLeft: (death: Death) => void;
}

export class DeathNote {
  readonly element: HTMLElement;
  readonly #title = make('p', { class: 'death-title', role: 'status' });
  readonly #list = make('dl', { class: 'death-found' });
  readonly #found = new CounterList(this.#list, FOUND);
  readonly #free: HTMLButtonElement;
  readonly #another: HTMLButtonElement;

  constructor(worker: WorkerReading, { startAnother, freeLeft }: DeathActions) {
    this.#another = actionButton('another', 'Start another', () => startAnother(worker));
    this.#free = actionButton('free-left', 'Free what it left', () => freeLeft(worker.death!));
    const buttons = make('p', { class: 'death-buttons' }, this.#another, this.#free);
    this.element = make('div', { class: 'death' }, this.#title, this.#list, buttons);
  }

  update(life: Life, death: Death | undefined): void {
    setAttribute(this.element, 'aria-hidden', String(life === 'living'));
    if (life === 'living' || death === undefined) {
      setText(this.#title, '');
      return;
    }
    const { reap, left } = death;
    setText(this.#title, titleOf(life, reap));
    setAttribute(this.#another, 'aria-disabled', String(life !== 'reaped'));
    setAttribute(this.#free, 'aria-disabled', String(left.length === 0));
    this.#list.hidden = reap === undefined;
    if (reap !== undefined) {
      const { found } = reap;
      const { objects, bytes, listedBlocks, reclaimedChunks } = found;
      this.#found.update(
        [
          locksLabel(found),
          objectsLabel(objects, bytes),
          plural(listedBlocks, 'block'),
          String(reclaimedChunks),
          objectsLabel(left.length, bytesOf(left)),
        ],
        [
          Number(found.recoveredHeap) + found.recoveredTransfers,
          objects,
          listedBlocks,
          reclaimedChunks,
          left.length,
        ],
      );
    }
  }
}

function titleOf(life: Life, reap: Death['reap']): string {
  if (reap === undefined) {
    return 'Killed: the browser is ending it';
  }
  return life === 'joining'
    ? 'Another one is being started'
    : `Reaped ${millisecondsLabel(reap.milliseconds)} after it was killed`;
}
