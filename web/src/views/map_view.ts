/**
 * The map: a square for each chunk, the block under the pointer or the keyboard's cursor named in a
 * tooltip and framed. Pixels are painted by render/chunk_painter; this view owns the canvases.
 */
import { CHUNK_BYTES, BlockState, UNIT_BYTES, UNITS_PER_CHUNK } from 'warena';
import { blockAt, type Block } from '../model/block_map.ts';
import type { ChunkWatch, WatchedChunk } from '../model/chunk_watch.ts';
import { SIDE, blockHeight, blockWidth, unitAt, unitColumn, unitRow } from '../model/morton.ts';
import { addressLabel } from '../model/order.ts';
import { paintChunk } from '../render/chunk_painter.ts';
import type { Palette } from '../render/palette.ts';
import { make, setAttribute, setText, shareLabel } from './dom.ts';
import { squareSide } from './map_layout.ts';
import type { TooltipView } from './tooltip_view.ts';

/** Milliseconds of each frame that may go into painting; what is left over waits for the next. */
const PAINT_BUDGET = 6;
/** The part of the window's height that the map may fill. */
const HEIGHT_SHARE = 0.66;

class Square {
  readonly element: HTMLElement;
  readonly canvas = make('canvas', { width: String(SIDE), height: String(SIDE) });
  readonly frame = make('div', { class: 'block-frame', hidden: '' });
  readonly #address = make('span');
  readonly #share = make('span', { class: 'share' });
  readonly #context: CanvasRenderingContext2D;

  constructor(index: number) {
    const context = this.canvas.getContext('2d', { alpha: false });
    if (context === null) {
      throw new Error('this browser gives no 2D canvas');
    }
    this.#context = context;
    this.canvas.dataset['chunk'] = String(index);
    this.element = make(
      'figure',
      { class: 'chunk' },
      make('div', { class: 'chunk-square' }, this.canvas, this.frame),
      make('figcaption', {}, this.#address, this.#share),
    );
  }

  show({ address, index, pictures, census }: WatchedChunk, image: ImageData): void {
    this.#context.putImageData(image, 0, 0);
    const allocated = census.bytes(BlockState.Allocated) / CHUNK_BYTES;
    setText(this.#address, addressLabel(address));
    setText(this.#share, ` · ${shareLabel(allocated)} allocated`);
    setAttribute(this.canvas, 'data-pictures', String(pictures));
    setAttribute(this.canvas, 'aria-label', `Chunk ${index} at ${addressLabel(address)}`);
  }

  /** Frames a block, or takes the frame off. */
  mark(block: Block | undefined): void {
    this.frame.hidden = block === undefined;
    if (block !== undefined) {
      const share = (units: number) => `${(units / SIDE) * 100}%`;
      this.frame.style.left = share(unitColumn(block.unit));
      this.frame.style.top = share(unitRow(block.unit));
      this.frame.style.width = share(blockWidth(block.order));
      this.frame.style.height = share(blockHeight(block.order));
    }
  }
}

/** A place on the map: a unit of a chunk. */
interface Place {
  chunk: number;
  unit: number;
}

export class MapView {
  readonly #map: HTMLElement;
  readonly #watch: ChunkWatch;
  readonly #tooltip: TooltipView;
  readonly #image = new ImageData(SIDE, SIDE);
  readonly #pixels = new Uint32Array(this.#image.data.buffer);
  #squares: Square[] = [];
  #layout = '';
  /** What the tooltip names, if anything. */
  #place: Place | undefined;

  constructor(map: HTMLElement, watch: ChunkWatch, tooltip: TooltipView) {
    this.#map = map;
    this.#watch = watch;
    this.#tooltip = tooltip;
    map.addEventListener('pointermove', (event) => this.#point(event));
    map.addEventListener('pointerdown', (event) => this.#point(event));
    map.addEventListener('pointerleave', () => this.#forget());
    map.addEventListener('blur', () => this.#forget());
    map.addEventListener('keydown', (event) => this.#step(event));
  }

  /** Paints what has changed, within a frame's budget. True when something is left to paint. */
  update(palette: Palette): boolean {
    this.#fitSquares();
    const start = performance.now();
    let chunk = this.#watch.nextChanged();
    while (chunk !== undefined) {
      paintChunk(chunk.map, palette, this.#pixels);
      this.#squares[chunk.index]!.show(chunk, this.#image);
      if (performance.now() - start > PAINT_BUDGET) {
        break;
      }
      chunk = this.#watch.nextChanged();
    }
    if (this.#place !== undefined) {
      this.#showPlace();
    }
    return chunk !== undefined;
  }

  #fitSquares(): void {
    const { length } = this.#watch.chunks;
    while (this.#squares.length > length) {
      this.#squares.pop()!.element.remove();
    }
    while (this.#squares.length < length) {
      const square = new Square(this.#squares.length);
      this.#squares.push(square);
      this.#map.append(square.element);
    }
    const width = this.#map.clientWidth;
    const layout = `${length} ${width} ${window.innerHeight}`;
    if (layout !== this.#layout) {
      this.#layout = layout;
      const side = squareSide(length, width, Math.max(420, window.innerHeight * HEIGHT_SHARE));
      this.#map.style.setProperty('--side', `${side}px`);
      // Scaled down, single pixels would be dropped: the lines between blocks first of all.
      this.#map.classList.toggle('reduced', side * window.devicePixelRatio < SIDE);
    }
  }

  #point(event: PointerEvent): void {
    const { target } = event;
    if (!(target instanceof HTMLCanvasElement)) {
      this.#forget();
      return;
    }
    const box = target.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * SIDE);
    const row = Math.floor(((event.clientY - box.top) / box.height) * SIDE);
    if (column >= 0 && column < SIDE && row >= 0 && row < SIDE) {
      this.#place = { chunk: Number(target.dataset['chunk']), unit: unitAt(column, row) };
      this.#showPlace({ x: event.clientX, y: event.clientY });
    }
  }

  #step(event: KeyboardEvent): void {
    const moved = this.#moved(event.key);
    if (moved !== undefined) {
      event.preventDefault();
      this.#place = moved;
      this.#showPlace();
    } else if (event.key === 'Escape') {
      this.#forget();
    }
  }

  /** Where an arrow key leads: the next or previous block, or the same unit of another chunk. */
  #moved(key: string): Place | undefined {
    const { chunk, unit } = this.#place ?? { chunk: 0, unit: 0 };
    const map = this.#watch.chunks[chunk]?.map;
    if (map === undefined || !key.startsWith('Arrow')) {
      return undefined;
    }
    if (this.#place === undefined) {
      return { chunk, unit };
    }
    const last = this.#watch.chunks.length - 1;
    const block = blockAt(map, unit);
    switch (key) {
      case 'ArrowRight': {
        const next = block.unit + block.units;
        return { chunk, unit: next < UNITS_PER_CHUNK ? next : block.unit };
      }
      case 'ArrowLeft':
        return { chunk, unit: Math.max(0, block.unit - 1) };
      case 'ArrowUp':
        return { chunk: Math.max(0, chunk - 1), unit };
      case 'ArrowDown':
        return { chunk: Math.min(last, chunk + 1), unit };
      default:
        return undefined;
    }
  }

  #forget(): void {
    this.#place = undefined;
    this.#showPlace();
  }

  /** Names and frames the block at the current place; beside the block when no pointer is there. */
  #showPlace(pointer?: { x: number; y: number }): void {
    const place = this.#place;
    const chunk = place && this.#watch.chunks[place.chunk];
    const block = chunk && blockAt(chunk.map, place.unit);
    this.#squares.forEach((square, index) => {
      square.mark(index === place?.chunk ? block : undefined);
    });
    if (chunk === undefined || block === undefined) {
      this.#tooltip.hide();
      return;
    }
    const frame = this.#squares[chunk.index]!.frame.getBoundingClientRect();
    this.#tooltip.show(block, chunk.address + block.unit * UNIT_BYTES, pointer ?? {
      x: frame.right,
      y: frame.bottom,
    });
  }
}
