/**
 * Orders and sizes: a block of order k is 16 << k bytes. Pure arithmetic and the words that the
 * page uses for sizes and addresses; every constant comes from the package.
 */
import { CHUNK_BYTES, UNIT_BYTES, UNITS_PER_CHUNK } from 'warena';

/** The largest order of a block: half a chunk, since the other half has the chunk's block map. */
export const LARGEST_ORDER = Math.log2(UNITS_PER_CHUNK) - 1;

/** Bytes of a block of `order`. */
export function orderBytes(order: number): number {
  return UNIT_BYTES * 2 ** order;
}

/** `bytes` in the largest binary unit that keeps it short: `16 B`, `2 KiB`, `1.5 MiB`. */
export function bytesLabel(bytes: number): string {
  const names = ['B', 'KiB', 'MiB', 'GiB'];
  let power = 0;
  let value = bytes;
  while (value >= 1024 && power < names.length - 1) {
    value /= 1024;
    power += 1;
  }
  const digits = Number.isInteger(value) || value >= 100 ? 0 : 1;
  return `${value.toFixed(digits)} ${names[power]}`;
}

/** The order of a block of so many units: `order 9`, or `5/8 of order 9` where it is cut short. */
export function orderLabel(order: number, units: number): string {
  const eighths = (8 * units) / 2 ** order;
  return eighths < 8 ? `${eighths}/8 of order ${order}` : `order ${order}`;
}

/** The bytes of a block of `order` where there is little room: `16`, `2K`, `1M`. */
export function shortLabel(order: number): string {
  return bytesLabel(orderBytes(order)).replace(/ (?:B|([KM])iB)$/, '$1');
}

/** An address as eight hexadecimal digits, the width of a 32-bit memory. */
export function addressLabel(address: number): string {
  return `0x${address.toString(16).padStart(8, '0')}`;
}

/** How many whole chunks fit in `bytes`. */
export function chunksIn(bytes: number): number {
  return Math.floor(bytes / CHUNK_BYTES);
}
