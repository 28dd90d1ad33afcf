import { BlockState, UNITS_PER_CHUNK } from 'warena';
import { describe, expect, test } from 'vitest';
import { LARGEST_ORDER } from '../src/model/order.ts';
import { pixelOfUnit } from '../src/model/morton.ts';
import { paintChunk } from '../src/render/chunk_painter.ts';
import { cssColour, oklch } from '../src/render/colour.ts';
import { makePalette } from '../src/render/palette.ts';
import { sparklinePath } from '../src/render/sparkline.ts';
import { squareSide } from '../src/views/map_layout.ts';
import { carve, freeChunk, tone } from './fake_map.ts';

describe('colours', () => {
  test('are those of OKLCH', () => {
    expect(oklch(1, 0, 0)).toEqual([255, 255, 255]);
    expect(oklch(0, 0, 0)).toEqual([0, 0, 0]);
    expect(oklch(0.628, 0.2577, 29.23)).toEqual([255, 0, 0]);
  });

  test('of allocated blocks differ from order to order, in both schemes', () => {
    for (const scheme of ['dark', 'light'] as const) {
      const { fill } = makePalette(scheme);
      const colours = Array.from({ length: LARGEST_ORDER + 1 }, (_, order) =>
        cssColour(fill[tone(BlockState.Allocated, order)]!),
      );
      expect(new Set(colours).size).toBe(LARGEST_ORDER + 1);
    }
  });
});

describe('a painted chunk', () => {
  const palette = makePalette('dark');

  test('shows an allocated block as its own pixels and nothing beyond', () => {
    const map = freeChunk();
    const pixels = new Uint32Array(UNITS_PER_CHUNK);
    carve(map, 0, 2, BlockState.Allocated);
    paintChunk(map, palette, pixels);
    const fill = palette.fill[tone(BlockState.Allocated, 2)]!;
    const painted = [...pixels.keys()].filter((at) => pixels[at] === fill);
    expect(painted).toEqual([0, 1, 2, 3].map((unit) => pixelOfUnit[unit]!).sort((a, b) => a - b));
  });

  test('leaves no pixel unpainted, also of a torn sample', () => {
    const map = freeChunk();
    map[0] = 0;
    const pixels = new Uint32Array(UNITS_PER_CHUNK);
    paintChunk(map, palette, pixels);
    expect(pixels.every((pixel) => pixel !== 0)).toBe(true);
  });

  test('tells what was never used from what is free', () => {
    for (const scheme of ['dark', 'light'] as const) {
      const { fill, edge } = makePalette(scheme);
      expect(fill[tone(BlockState.Zeroed, 10)]).not.toBe(fill[tone(BlockState.Free, 10)]);
      expect(edge[tone(BlockState.Zeroed, 10)]).not.toBe(fill[tone(BlockState.Zeroed, 10)]);
    }
  });

  test('outlines free blocks and hatches cached ones', () => {
    const map = freeChunk();
    const pixels = new Uint32Array(UNITS_PER_CHUNK);
    carve(map, 0, 6, BlockState.Cached);
    paintChunk(map, palette, pixels);
    expect(pixels.includes(palette.edge[tone(BlockState.Free, 10)]!)).toBe(true);
    expect(pixels[0]).toBe(palette.pattern[tone(BlockState.Cached, 6)]);
    expect(pixels[1]).toBe(palette.fill[tone(BlockState.Cached, 6)]);
  });
});

describe('squares', () => {
  test('are as large as lets all of them fit', () => {
    expect(squareSide(1, 724, 600)).toBe(578);
    expect(squareSide(6, 724, 600)).toBeGreaterThan(220);
    for (const chunks of [1, 2, 5, 12, 20]) {
      const side = squareSide(chunks, 724, 600);
      const columns = Math.floor((724 + 12) / (side + 12));
      expect(Math.ceil(chunks / columns) * (side + 34) - 12).toBeLessThanOrEqual(600);
    }
  });

  test('stay large enough to see a block, and within a narrow page', () => {
    expect(squareSide(500, 724, 600)).toBe(96);
    expect(squareSide(3, 80, 600)).toBe(80);
  });
});

test('a sparkline ends at the right edge, its highest value at the top', () => {
  expect(sparklinePath([0, 10], 11, 100, 22)).toBe('M90.0 21.0L100.0 1.0');
});
