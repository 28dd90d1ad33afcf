/** The headline figures of the whole arena, and the counters of its central heap. */
import { bytesLabel } from '../model/order.ts';
import { totals, type State } from '../model/state.ts';
import { CounterList } from './counter_list.ts';
import { countLabel, make, setAttribute, setText } from './dom.ts';
import { SparklineView } from './sparkline_view.ts';

const HEAP_COUNTERS = [
  { key: 'splits', name: 'Splits' },
  { key: 'merges', name: 'Merges' },
  { key: 'grows', name: 'Grows', title: 'Chunks taken from the memory' },
  { key: 'locks', name: 'Lock taken' },
  { key: 'owned', name: 'Owned', title: 'Bytes of all chunks' },
  { key: 'memory', name: 'Memory', title: 'Bytes of the WebAssembly memory' },
];

/** One headline figure. */
class Figure {
  readonly element: HTMLElement;
  readonly #value: HTMLElement;

  constructor(key: string, name: string, extra: Node[] = []) {
    this.#value = make('dd', { 'data-figure': key });
    this.element = make('div', { class: 'figure' }, make('dt', {}, name), this.#value, ...extra);
  }

  update(text: string, raw: number): void {
    setText(this.#value, text);
    setAttribute(this.#value, 'data-value', String(raw));
  }

  /** Marks the figure as bad news, or takes the mark off. */
  alarm(on: boolean): void {
    this.element.classList.toggle('alarm', on);
  }
}

export class FiguresView {
  readonly #sparkline = new SparklineView();
  readonly #operations = new Figure('operations', 'Operations/s', [this.#sparkline.element]);
  readonly #violations = new Figure('violations', 'Violations');
  readonly #outOfMemory = new Figure('out-of-memory', 'Out of memory');
  readonly #splits = new Figure('splits', 'Splits/s');
  readonly #merges = new Figure('merges', 'Merges/s');
  readonly #frames = new Figure('frames', 'Frames/s');
  readonly #heap: CounterList;

  constructor(figures: HTMLElement, heap: HTMLElement) {
    const all = [
      this.#operations,
      this.#violations,
      this.#outOfMemory,
      this.#splits,
      this.#merges,
      this.#frames,
    ];
    figures.append(...all.map(({ element }) => element));
    this.#heap = new CounterList(heap, HEAP_COUNTERS);
  }

  update(state: State): void {
    const { operations, splits, merges, snapshot, framesPerSecond } = state;
    const { violations: inWorkers, outOfMemory } = totals(state.workers);
    const violations = inWorkers + state.violationsInLeft;
    this.#operations.update(countLabel(operations.rate), operations.rate);
    this.#sparkline.update(operations);
    this.#violations.update(countLabel(violations), violations);
    this.#violations.alarm(violations > 0);
    this.#outOfMemory.update(countLabel(outOfMemory), outOfMemory);
    this.#outOfMemory.alarm(outOfMemory > 0);
    this.#splits.update(countLabel(splits.rate), splits.rate);
    this.#merges.update(countLabel(merges.rate), merges.rate);
    this.#frames.update(framesPerSecond.toFixed(0), framesPerSecond);
    if (snapshot !== undefined) {
      const { heap, ownedBytes, memoryBytes } = snapshot;
      const counts = [heap.splits, heap.merges, heap.grows, heap.lockAcquisitions];
      const bytes = [ownedBytes, memoryBytes];
      this.#heap.update(
        [...counts.map(countLabel), ...bytes.map(bytesLabel)],
        [...counts, ...bytes],
      );
    }
  }
}
