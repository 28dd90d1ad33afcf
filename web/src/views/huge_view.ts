/**
 * The huge objects: a solid tile for each, as wide as it has chunks, with its address and size. They
 * stand in a strip of their own above the map, which comes with the first of them and stays, as high
 * as it is, until the workers go: nothing moves when an object comes or goes.
 */
import { CHUNK_BYTES, type HugeSnapshot } from 'warena';
import { hugeState } from '../model/census.ts';
import { LARGEST_ORDER, addressLabel, bytesLabel } from '../model/order.ts';
import type { State } from '../model/state.ts';
import { cssColour } from '../render/colour.ts';
import type { Palette } from '../render/palette.ts';
import { make, setAttribute, setText } from './dom.ts';
import { STATE_NAMES } from './tooltip_view.ts';

class Tile {
  readonly element: HTMLElement;
  readonly #fill = make('div', { class: 'huge-fill', 'aria-hidden': 'true' });
  readonly #caption = make('figcaption');

  constructor() {
    this.element = make('figure', { class: 'huge-tile' }, this.#fill, this.#caption);
  }

  show(run: HugeSnapshot, palette: Palette): void {
    const { address, chunks } = run;
    const state = hugeState(run);
    const size = bytesLabel(chunks * CHUNK_BYTES);
    this.element.style.setProperty('--chunks', String(chunks));
    this.#fill.style.background = cssColour(palette.fill[(state << 5) | LARGEST_ORDER]!);
    setText(this.#caption, `${addressLabel(address)} · ${size}`);
    setAttribute(this.element, 'title', `${size} at ${addressLabel(address)}, ${STATE_NAMES[state]}`);
  }
}

export class HugeView {
  readonly #strip: HTMLElement;
  readonly #tiles: Tile[] = [];

  constructor(strip: HTMLElement) {
    this.#strip = strip;
  }

  update({ snapshot, workers }: State, palette: Palette): void {
    const huge = snapshot?.huge ?? [];
    if (huge.length > 0) {
      this.#strip.hidden = false;
    } else if (workers.length === 0) {
      this.#strip.hidden = true;
    }
    while (this.#tiles.length > huge.length) {
      this.#tiles.pop()!.element.remove();
    }
    while (this.#tiles.length < huge.length) {
      const tile = new Tile();
      this.#tiles.push(tile);
      this.#strip.append(tile.element);
    }
    huge.forEach((run, index) => this.#tiles[index]!.show(run, palette));
  }
}
