/**
 * Paints a chunk's block map, one pixel a unit, along the Morton curve. State in, pixels out.
 */
import { forEachBlock } from '../model/block_map.ts';
import { SIDE, blockHeight, blockWidth, pixelOfUnit } from '../model/morton.ts';
import { Pattern, statePattern, type Palette } from './palette.ts';

/** From this order on a block is at least 4 × 4 pixels, and a line around it leaves room for it. */
const SMALLEST_OUTLINED = 4;

/** Pixels with a number of their own row length. */
export interface Canvas32 {
  pixels: Uint32Array;
  width: number;
}

/**
 * Paints a whole block of any size as a rectangle whose upper left pixel is `start`; in the colour of
 * `colour` where it is a part of a block of that order.
 */
export function paintBlock(
  { pixels, width }: Canvas32,
  start: number,
  order: number,
  state: number,
  palette: Palette,
  colour = order,
): void {
  const tone = (state << 5) | colour;
  const fill = palette.fill[tone]!;
  const columns = blockWidth(order);
  const rows = blockHeight(order);
  const pattern = statePattern(state);
  const outlined = order >= SMALLEST_OUTLINED;
  const edge = palette.edge[tone]!;
  for (let row = 0; row < rows; row += 1) {
    const at = start + row * width;
    if (outlined && row === rows - 1) {
      pixels.fill(edge, at, at + columns);
      continue;
    }
    pixels.fill(fill, at, at + columns);
    if (pattern !== Pattern.Solid) {
      const second = palette.pattern[tone]!;
      // Hatched: a diagonal line every four pixels. Checked: every other pixel.
      const period = pattern === Pattern.Hatched ? 4 : 2;
      for (let column = (period - (row % period)) % period; column < columns; column += period) {
        pixels[at + column] = second;
      }
    }
    if (outlined) {
      pixels[at + columns - 1] = edge;
    }
  }
}

/** Paints all blocks of `map` on a square of 256 × 256 pixels. */
export function paintChunk(map: Uint8Array, palette: Palette, pixels: Uint32Array): void {
  const canvas = { pixels, width: SIDE };
  forEachBlock(map, (unit, order, state, units) => {
    if (order === 0) {
      pixels[pixelOfUnit[unit]!] = palette.fill[state << 5]!;
      return;
    }
    // Five eighths are a half and an eighth, six a half and a quarter: rectangles all.
    for (let painted = 0; painted < units;) {
      const part = Math.floor(Math.log2(units - painted));
      paintBlock(canvas, pixelOfUnit[unit + painted]!, part, state, palette, order);
      painted += 2 ** part;
    }
  });
}
