/**
 * What the owned bytes are: a bar of all blocks by state and, where allocated, by order; and the
 * legend of states with their bytes. All states add up to what the arena owns.
 */
import { BlockState } from 'warena';
import { bytesByState, type Census } from '../model/census.ts';
import { LARGEST_ORDER, bytesLabel } from '../model/order.ts';
import type { State } from '../model/state.ts';
import { paintBlock } from '../render/chunk_painter.ts';
import { cssColour } from '../render/colour.ts';
import type { Palette } from '../render/palette.ts';
import { make, setAttribute, setText } from './dom.ts';
import { STATE_NAMES } from './tooltip_view.ts';

const SHOWN = [
  BlockState.Allocated,
  BlockState.Cached,
  BlockState.Transfer,
  BlockState.Deferred,
  BlockState.Free,
  BlockState.Zeroed,
  BlockState.Metadata,
];

/** The block that stands for a state in the legend: 16 × 16 pixels. */
const SWATCH_ORDER = 8;
const SWATCH_SIDE = 16;

/** The legend's entry of one state, and the parts of the bar that show it. */
interface Entry {
  state: number;
  swatch: HTMLCanvasElement;
  bytes: HTMLElement;
  /** One part for all orders, or, for allocated blocks, one an order. */
  parts: HTMLElement[];
}

export class CompositionView {
  readonly #entries: Entry[];
  #palette: Palette | undefined;

  constructor(container: HTMLElement) {
    this.#entries = SHOWN.map((state) => ({
      state,
      swatch: make('canvas', { width: String(SWATCH_SIDE), height: String(SWATCH_SIDE) }),
      bytes: make('span', { class: 'bytes', 'data-bytes-of': STATE_NAMES[state]! }),
      parts: Array.from({ length: state === BlockState.Allocated ? LARGEST_ORDER + 1 : 1 }, () =>
        make('span', { 'data-state': STATE_NAMES[state]! }),
      ),
    }));
    const bar = make('div', { class: 'composition-bar', 'aria-hidden': 'true' });
    bar.append(...this.#entries.flatMap(({ parts }) => parts));
    const list = make('ul', { class: 'composition-list' });
    for (const { state, swatch, bytes } of this.#entries) {
      list.append(make('li', {}, swatch, make('span', {}, STATE_NAMES[state]!), bytes));
    }
    container.append(bar, list);
  }

  update({ watch, snapshot }: State, palette: Palette): void {
    if (palette !== this.#palette) {
      this.#palette = palette;
      this.#entries.forEach((entry) => colour(entry, palette));
    }
    const censuses = watch.chunks.map(({ census }) => census);
    const bytes = bytesByState(censuses, snapshot?.huge ?? []);
    for (const { state, parts, bytes: text } of this.#entries) {
      let rest = bytes[state]!;
      parts.forEach((part, order) => {
        // Huge blocks are what no order but the last accounts for.
        const share = order === parts.length - 1 ? rest : orderedBytes(censuses, state, order);
        part.style.flexGrow = String(share);
        rest -= share;
      });
      setText(text, bytesLabel(bytes[state]!));
      setAttribute(text, 'data-value', String(bytes[state]));
    }
  }
}

function orderedBytes(censuses: readonly Census[], state: number, order: number): number {
  return censuses.reduce((sum, census) => sum + census.bytesOf(state, order), 0);
}

/** Gives an entry's swatch and parts their colours. */
function colour({ state, swatch, parts }: Entry, palette: Palette): void {
  const image = new ImageData(SWATCH_SIDE, SWATCH_SIDE);
  const pixels = new Uint32Array(image.data.buffer);
  paintBlock({ pixels, width: SWATCH_SIDE }, 0, SWATCH_ORDER, state, palette);
  swatch.getContext('2d')?.putImageData(image, 0, 0);
  parts.forEach((part, order) => {
    const tone = (state << 5) | (parts.length === 1 ? SWATCH_ORDER : order);
    part.style.setProperty('--fill', cssColour(palette.fill[tone]!));
    part.style.setProperty('--pattern', cssColour(palette.pattern[tone]!));
  });
}
