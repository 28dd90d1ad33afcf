/**
 * The Morton (Z-order) curve lays the 65,536 units of a chunk out on a square of 256 × 256.
 *
 * The even bits of a unit's number are its column, the odd bits its row. A buddy block is a run of
 * 2^k units that starts at a multiple of 2^k, and on this curve such a run is always a square
 * (k even) or two squares side by side (k odd). So a split divides a rectangle in two halves, a
 * merge joins them, and a block never changes place.
 *
 * ```
 *   0  1  4  5
 *   2  3  6  7        units 4..8 are the block of order 2 at the upper right
 *   8  9 12 13
 *  10 11 14 15
 * ```
 */
import { UNITS_PER_CHUNK } from 'warena';

/** Units along one side of a chunk's square. */
export const SIDE = Math.sqrt(UNITS_PER_CHUNK);

/** Gathers the even bits of `value` into its low half. */
function compactEvenBits(value: number): number {
  let bits = value & 0x5555;
  bits = (bits | (bits >> 1)) & 0x3333;
  bits = (bits | (bits >> 2)) & 0x0f0f;
  return (bits | (bits >> 4)) & 0x00ff;
}

/** Spreads the low eight bits of `value` over the even bits. */
function spreadToEvenBits(value: number): number {
  let bits = value & 0xff;
  bits = (bits | (bits << 4)) & 0x0f0f;
  bits = (bits | (bits << 2)) & 0x3333;
  return (bits | (bits << 1)) & 0x5555;
}

/** The column of `unit`, 0 at the left. */
export function unitColumn(unit: number): number {
  return compactEvenBits(unit);
}

/** The row of `unit`, 0 at the top. */
export function unitRow(unit: number): number {
  return compactEvenBits(unit >> 1);
}

/** The unit at a column and row. */
export function unitAt(column: number, row: number): number {
  return spreadToEvenBits(column) | (spreadToEvenBits(row) << 1);
}

/** Units that a block of `order` is wide. */
export function blockWidth(order: number): number {
  return 1 << ((order + 1) >> 1);
}

/** Units that a block of `order` is high. */
export function blockHeight(order: number): number {
  return 1 << (order >> 1);
}

/** Pixel number (row × 256 + column) of every unit, so that drawing need not untangle bits. */
export const pixelOfUnit: Uint16Array = Uint16Array.from(
  { length: UNITS_PER_CHUNK },
  (_, unit) => unitRow(unit) * SIDE + unitColumn(unit),
);
