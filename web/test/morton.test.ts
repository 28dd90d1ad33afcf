import { describe, expect, test } from 'vitest';
import { LARGEST_ORDER } from '../src/model/order.ts';
import { UNITS_PER_CHUNK } from 'warena';
import {
  blockHeight,
  blockWidth,
  pixelOfUnit,
  unitAt,
  unitColumn,
  unitRow,
} from '../src/model/morton.ts';

describe('the Morton curve', () => {
  test('lays every unit on a place of its own, and back', () => {
    const places = new Set(pixelOfUnit);
    expect(places.size).toBe(UNITS_PER_CHUNK);
    const units = [...pixelOfUnit.keys()];
    expect(units.every((unit) => unitAt(unitColumn(unit), unitRow(unit)) === unit)).toBe(true);
  });

  test('makes every buddy block a rectangle that starts at its first unit', () => {
    for (let order = 0; order <= LARGEST_ORDER; order += 1) {
      const units = 1 << order;
      for (const start of [0, units, UNITS_PER_CHUNK - units].filter((at) => at + units <= UNITS_PER_CHUNK)) {
        const left = unitColumn(start);
        const top = unitRow(start);
        let inside = 0;
        for (let unit = start; unit < start + units; unit += 1) {
          const column = unitColumn(unit) - left;
          const row = unitRow(unit) - top;
          const fits = column >= 0 && column < blockWidth(order) && row >= 0 && row < blockHeight(order);
          inside += fits ? 1 : 0;
        }
        // As many units as the rectangle has places, each on a place of its own.
        expect(inside).toBe(units);
        expect(blockWidth(order) * blockHeight(order)).toBe(units);
      }
    }
  });
});
