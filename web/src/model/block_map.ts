/**
 * Reading a chunk's block map: one byte a unit, which says where a block starts what it is and how
 * much it covers, and 0 inside.
 *
 * A map is a sample that was taken while workers ran, so for a moment it may contradict itself: a
 * unit that no block covers, or a block that would not fit its place. Both are read as blocks of
 * one unit in state `Interior`, so that a reader always covers a chunk exactly once.
 */
import { BlockState, UNITS_PER_CHUNK, blockOrder, blockState, blockUnits } from 'warena';
import { LARGEST_ORDER } from './order.ts';

/** One block as a map shows it. `unit` is its first unit. */
export interface Block {
  unit: number;
  order: number;
  state: number;
  /** Units that it covers: all of its order, or five or six eighths. */
  units: number;
}

/** How many states a block can be in; the package's table is the only list of them. */
export const STATES = Object.keys(BlockState).length;

/** Whether a block of `order` may start at `unit`. */
function fits(unit: number, order: number): boolean {
  return order <= LARGEST_ORDER && (unit & ((1 << order) - 1)) === 0;
}

/** Calls `visit` for each block of `map` from the lowest address up; blocks cover every unit once. */
export function forEachBlock(
  map: Uint8Array,
  visit: (unit: number, order: number, state: number, units: number) => void,
): void {
  let unit = 0;
  while (unit < UNITS_PER_CHUNK) {
    const byte = map[unit]!;
    const order = blockOrder(byte);
    if (byte === 0 || !fits(unit, order)) {
      visit(unit, 0, BlockState.Interior, 1);
      unit += 1;
    } else {
      const units = blockUnits(byte);
      visit(unit, order, blockState(byte), units);
      unit += units;
    }
  }
}

/** The block of `map` that holds `unit`. */
export function blockAt(map: Uint8Array, unit: number): Block {
  // Blocks are aligned to their order, so the start is `unit` with some low bits cleared, and the
  // first start met on the way up is the innermost.
  for (let order = 0; order <= LARGEST_ORDER; order += 1) {
    const start = unit & ~((1 << order) - 1);
    const byte = map[start]!;
    if (byte !== 0) {
      const found = blockOrder(byte);
      const units = blockUnits(byte);
      if (start + units > unit && fits(start, found)) {
        return { unit: start, order: found, state: blockState(byte), units };
      }
      break;
    }
  }
  return { unit, order: 0, state: BlockState.Interior, units: 1 };
}
