/** The transfer caches: one bar an order, full at the transfer capacity. */
import type { State } from '../model/state.ts';
import { bytesLabel, orderBytes } from '../model/order.ts';
import { make, setText } from './dom.ts';
import { MeterBar } from './meter_bar.ts';

export class TransferView {
  readonly #list: HTMLElement;
  #rows: { bar: MeterBar; value: HTMLElement }[] = [];
  #shown = '';

  constructor(list: HTMLElement) {
    this.#list = list;
  }

  /** `colours` are the CSS colours of all orders; `figures` is true when the figures are due. */
  update({ snapshot }: State, colours: readonly string[], figures: boolean): void {
    const transfer = snapshot?.transfer ?? [];
    const stores = transfer.filter(({ capacity }) => capacity > 0);
    const shown = JSON.stringify([stores.map(({ order }) => order), colours]);
    const fresh = shown !== this.#shown;
    if (fresh) {
      this.#shown = shown;
      this.#build(
        stores.map(({ order }) => order),
        colours,
      );
    }
    stores.forEach(({ objects, capacity }, index) => {
      const { bar, value } = this.#rows[index]!;
      bar.draw(objects, capacity);
      setText(value, `${objects}/${capacity}`);
      if (figures || fresh) {
        bar.describe(objects, capacity);
      }
    });
  }

  #build(orders: readonly number[], colours: readonly string[]): void {
    this.#rows = orders.map((order) => ({
      bar: new MeterBar(`Transfer cache of ${bytesLabel(orderBytes(order))}`, colours[order]!, 'X'),
      value: make('span', { class: 'transfer-value' }),
    }));
    const rows = this.#rows.map(({ bar, value }, index) =>
      make(
        'div',
        { class: 'transfer-row' },
        make('span', { class: 'transfer-name' }, bytesLabel(orderBytes(orders[index]!))),
        bar.element,
        value,
      ),
    );
    this.#list.replaceChildren(
      ...(rows.length > 0
        ? rows
        : [make('p', { class: 'hint' }, 'This arena has no transfer caches.')]),
    );
  }
}
