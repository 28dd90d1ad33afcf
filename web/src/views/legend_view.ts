/** The legend of orders: the colour of every order, from one unit to a whole chunk. */
import { LARGEST_ORDER, bytesLabel, orderBytes, shortLabel } from '../model/order.ts';
import { make } from './dom.ts';

export class LegendView {
  readonly #element: HTMLElement;
  #colours: readonly string[] | undefined;

  constructor(element: HTMLElement) {
    this.#element = element;
  }

  /** `colours` are the CSS colours of all orders. */
  update(colours: readonly string[]): void {
    if (colours === this.#colours) {
      return;
    }
    this.#colours = colours;
    const orders = Array.from({ length: LARGEST_ORDER + 1 }, (_, order) => order);
    this.#element.replaceChildren(
      make('h3', {}, 'Block size, by order'),
      make(
        'ol',
        { start: '0' },
        ...orders.map((order) => {
          const swatch = make('span', { class: 'swatch' });
          swatch.style.background = colours[order]!;
          return make('li', { title: `${bytesLabel(orderBytes(order))}, order ${order}` }, swatch, shortLabel(order));
        }),
      ),
    );
  }
}
