/** A list of named figures: `dt` and `dd` pairs whose values change. */
import { make, setAttribute, setText } from './dom.ts';

export class CounterList {
  readonly #values: HTMLElement[];

  /** Fills `list` with one entry a name. An entry with a key can be found by `data-counter`. */
  constructor(list: HTMLElement, names: readonly { name: string; key: string; title?: string }[]) {
    this.#values = names.map(({ key }) => make('dd', { 'data-counter': key }));
    names.forEach(({ name, title }, index) => {
      const term = make('dt', title === undefined ? {} : { title }, name);
      list.append(make('div', {}, term, this.#values[index]!));
    });
  }

  /** Shows the texts in the order of the names; `raw` are the exact figures behind them. */
  update(texts: readonly string[], raw: readonly number[]): void {
    texts.forEach((text, index) => {
      const value = this.#values[index]!;
      setText(value, text);
      setAttribute(value, 'data-value', String(raw[index]));
    });
  }
}
