/** A bar that shows how full a cache is: an ARIA meter, drawn by CSS from one custom property. */
import { make, setAttribute } from './dom.ts';

export class MeterBar {
  readonly element: HTMLElement;
  readonly #name: string;
  #shown = '';

  /** `colour` is a CSS colour, `name` what the meter measures. */
  constructor(name: string, colour: string) {
    this.#name = name;
    this.element = make('div', { class: 'bar', role: 'meter', 'aria-valuemin': '0' });
    this.element.style.setProperty('--colour', colour);
  }

  update(value: number, most: number): void {
    const shown = `${value}/${most}`;
    if (shown === this.#shown) {
      return;
    }
    this.#shown = shown;
    this.element.style.setProperty('--fill', String(most === 0 ? 0 : Math.min(1, value / most)));
    setAttribute(this.element, 'aria-valuemax', String(most));
    setAttribute(this.element, 'aria-valuenow', String(value));
    setAttribute(this.element, 'aria-label', `${this.#name}: ${value} of ${most}`);
  }
}
