/**
 * A worker's card: its speed, the fill of its cache by order, and what its cache did; or how it ended.
 * Both take the same room, so that nothing moves when a worker is killed.
 */
import type { Snapshot, WorkerSnapshot } from 'warena';
import { bytesLabel, orderBytes, shortLabel } from '../model/order.ts';
import type { WorkerReading } from '../model/state.ts';
import { CounterList } from './counter_list.ts';
import { DeathNote, type DeathActions } from './death_note.ts';
import { actionButton, countLabel, make, setAttribute, setText, shareLabel } from './dom.ts';
import { MeterBar } from './meter_bar.ts';
import { SparklineView } from './sparkline_view.ts';

const COUNTERS = [
  { key: 'hit-rate', name: 'Hit rate', title: 'Allocations that the cache served without a refill' },
  { key: 'hits', name: 'Hits' },
  { key: 'refills-transfer', name: 'Refills, transfer', title: 'Batches from the transfer cache' },
  { key: 'refills-heap', name: 'Refills, heap', title: 'Batches from the central heap' },
  { key: 'spills-transfer', name: 'Spills, transfer', title: 'Batches to the transfer cache' },
  { key: 'spills-heap', name: 'Spills, heap', title: 'Batches to the central heap' },
  { key: 'direct', name: 'Direct', title: 'Operations that went to the central heap one by one' },
  { key: 'cycles', name: 'Cycles' },
];

/** What can be done with a worker. */
export interface WorkerActions extends DeathActions {
  kill: (worker: WorkerReading) => void;
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

export class WorkerCard {
  readonly element: HTMLElement;
  readonly #operations = make('output', { class: 'rate' });
  readonly #sparkline = new SparklineView();
  readonly #bars: { bar: MeterBar; value: HTMLElement }[];
  readonly #counters: CounterList;
  readonly #slot = make('small');
  readonly #kill: HTMLButtonElement;
  readonly #living: HTMLElement;
  readonly #death: DeathNote;

  /** `colours` are the CSS colours of the cached orders. */
  constructor(worker: WorkerReading, colours: readonly string[], actions: WorkerActions) {
    const { number } = worker;
    this.#kill = actionButton('kill', 'Kill', () => actions.kill(worker));
    setAttribute(this.#kill, 'aria-label', `Kill worker ${number}`);
    setAttribute(this.#kill, 'title', 'Terminates this worker at whatever instruction it is');
    this.#death = new DeathNote(worker, actions);
    const list = make('dl', { class: 'counters' });
    this.#counters = new CounterList(list, COUNTERS);
    this.#bars = colours.map((colour, order) => ({
      bar: new MeterBar(
        `Worker ${number}, cached objects of ${bytesLabel(orderBytes(order))}`,
        colour,
        'Y',
      ),
      value: make('span', { class: 'bar-value' }),
    }));
    const columns = this.#bars.map(({ bar, value }, order) =>
      make('div', { class: 'bar-column' }, value, bar.element, orderName(order)),
    );
    const cache =
      columns.length > 0
        ? make('div', { class: 'cache' }, ...columns)
        : make('p', { class: 'hint' }, 'This arena has no caches.');
    this.#living = make('div', { class: 'living' }, cache, list);
    this.element = make(
      'article',
      { class: 'panel worker', 'data-worker': String(number), 'aria-label': `Worker ${number}` },
      make(
        'header',
        {},
        make('h3', {}, `Worker ${number} `, this.#slot),
        this.#sparkline.element,
        make('p', { class: 'rate-box' }, this.#operations, ' ', make('small', {}, 'ops/s')),
        this.#kill,
      ),
      make('div', { class: 'life' }, this.#living, this.#death.element),
    );
  }

  /** Shows whether the worker lives, and how the last one ended. */
  updateLife({ life, slot, death }: WorkerReading, canKill: boolean, takenBefore: boolean): void {
    setAttribute(this.element, 'data-life', life);
    setText(this.#slot, takenBefore ? `slot ${slot} again` : `slot ${slot}`);
    setAttribute(this.#kill, 'aria-disabled', String(life !== 'living' || !canKill));
    setAttribute(this.#living, 'aria-hidden', String(life !== 'living'));
    this.#death.update(life, death);
  }

  /** Shows the fill of each order; cheap enough for every frame. */
  drawCache({ fill, capacity }: WorkerSnapshot): void {
    this.#bars.forEach(({ bar, value }, order) => {
      const objects = fill[order] ?? 0;
      bar.draw(objects, capacity[order] ?? 0);
      setText(value, String(objects));
    });
  }

  /** Shows the figures, which nobody could read at the rate of the display. */
  updateFigures(
    { operations, tally }: WorkerReading,
    worker: WorkerSnapshot,
  ): void {
    this.#bars.forEach(({ bar }, order) =>
      bar.describe(worker.fill[order] ?? 0, worker.capacity[order] ?? 0),
    );
    const allocations = sum(worker.allocations);
    const hitRate = allocations === 0 ? 0 : worker.hits / allocations;
    setText(this.#operations, countLabel(operations.rate));
    setAttribute(this.#operations, 'data-value', operations.rate.toFixed(1));
    this.#sparkline.update(operations);
    const counts = [
      worker.hits,
      worker.refillsFromTransfer,
      worker.refillsFromHeap,
      worker.spillsToTransfer,
      worker.spillsToHeap,
      worker.direct,
      tally.cycles,
    ];
    this.#counters.update([shareLabel(hitRate), ...counts.map(countLabel)], [hitRate, ...counts]);
  }
}

function orderName(order: number): HTMLElement {
  const title = bytesLabel(orderBytes(order));
  return make('span', { class: 'bar-name', title }, shortLabel(order));
}

/** The entry of `slot` in a snapshot. */
export function workerInSlot(snapshot: Snapshot, slot: number): WorkerSnapshot | undefined {
  return snapshot.workers.find((worker) => worker.slot === slot);
}
