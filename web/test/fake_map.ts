/** Block maps made by hand, for tests. */
import { BlockState, UNITS_PER_CHUNK } from 'warena';
import { LARGEST_ORDER } from '../src/model/order.ts';

/** The map byte of a block's first unit. */
export function tone(state: number, order: number): number {
  return (state << 5) | order;
}

/** A map whose chunk is two free blocks. */
export function freeChunk(): Uint8Array {
  const map = new Uint8Array(UNITS_PER_CHUNK);
  map[0] = tone(BlockState.Free, LARGEST_ORDER);
  map[1 << LARGEST_ORDER] = tone(BlockState.Free, LARGEST_ORDER);
  return map;
}

/** Splits the block that starts at `unit` until it has `order`, and puts it in `state`. */
export function carve(map: Uint8Array, unit: number, order: number, state: number): void {
  for (let upper = (map[unit]! & 31) - 1; upper >= order; upper -= 1) {
    map[unit + (1 << upper)] = tone(BlockState.Free, upper);
  }
  map[unit] = tone(state, order);
}
