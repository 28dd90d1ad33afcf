/** The tooltip: address, size, order and state of one block. */
import { BlockState, UNIT_BYTES } from 'warena';
import type { Block } from '../model/block_map.ts';
import { addressLabel, bytesLabel, orderLabel } from '../model/order.ts';
import { setText } from './dom.ts';

/** The words for the states, in the package's numbers. */
export const STATE_NAMES: Record<number, string> = {
  [BlockState.Interior]: 'changing',
  [BlockState.Free]: 'free',
  [BlockState.Allocated]: 'allocated',
  [BlockState.Cached]: 'cached',
  [BlockState.Transfer]: 'in transfer',
  [BlockState.Deferred]: 'deferred',
  [BlockState.Metadata]: 'metadata',
  [BlockState.Zeroed]: 'free, never used',
};

/** Distance from the pointer, in CSS pixels. */
const OFFSET = 14;

export class TooltipView {
  readonly #element: HTMLElement;

  constructor(element: HTMLElement) {
    this.#element = element;
  }

  /** Names `block`, which starts at `address`, beside a point of the window. */
  show({ order, state, units }: Block, address: number, point: { x: number; y: number }): void {
    setText(
      this.#element,
      `${addressLabel(address)} · ${bytesLabel(units * UNIT_BYTES)} · ${orderLabel(order, units)} · ${STATE_NAMES[state]}`,
    );
    this.#element.hidden = false;
    // Kept inside the window: on a narrow one the text is nearly as wide as the window.
    const left = Math.min(point.x + OFFSET, window.innerWidth - this.#element.offsetWidth - 8);
    const top = Math.min(point.y + OFFSET, window.innerHeight - this.#element.offsetHeight - 8);
    this.#element.style.transform = `translate(${Math.max(8, left)}px, ${Math.max(8, top)}px)`;
  }

  hide(): void {
    this.#element.hidden = true;
  }
}
