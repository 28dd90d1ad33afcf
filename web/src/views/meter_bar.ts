/**
 * A bar that shows how full a cache is. Its length follows every frame, by a transform that costs no
 * layout; what assistive technology reads (it is an ARIA meter) follows eight times a second.
 */
import { make, setAttribute } from './dom.ts';

/** Which way a bar grows. */
export type Axis = 'X' | 'Y';

export class MeterBar {
  readonly element: HTMLElement;
  readonly #fill = make('span');
  readonly #name: string;
  readonly #axis: Axis;
  #shown = -1;

  /** `name` is what the bar measures, `colour` a CSS colour. */
  constructor(name: string, colour: string, axis: Axis) {
    this.#name = name;
    this.#axis = axis;
    this.#fill.style.background = colour;
    this.element = make('div', { class: `bar ${axis}`, role: 'meter', 'aria-valuemin': '0' }, this.#fill);
  }

  /** Shows `value` out of `most` as a length. */
  draw(value: number, most: number): void {
    const share = most === 0 ? 0 : Math.min(1, value / most);
    if (share !== this.#shown) {
      this.#shown = share;
      this.#fill.style.transform = `scale${this.#axis}(${share})`;
    }
  }

  /** Says `value` out of `most` in words. */
  describe(value: number, most: number): void {
    setAttribute(this.element, 'aria-valuemax', String(most));
    setAttribute(this.element, 'aria-valuenow', String(value));
    setAttribute(this.element, 'aria-label', `${this.#name}: ${value} of ${most}`);
  }
}
