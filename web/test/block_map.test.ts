import { BlockState, CHUNK_BYTES, UNITS_PER_CHUNK } from 'warena';
import { describe, expect, test } from 'vitest';
import { blockAt, forEachBlock, type Block } from '../src/model/block_map.ts';
import { Census, bytesByState } from '../src/model/census.ts';
import { carve, freeChunk, tone } from './fake_map.ts';

function blocksOf(map: Uint8Array): Block[] {
  const blocks: Block[] = [];
  forEachBlock(map, (unit, order, state, units) => blocks.push({ unit, order, state, units }));
  return blocks;
}

function coveredUnits(map: Uint8Array): number {
  return blocksOf(map).reduce((sum, { units }) => sum + units, 0);
}

describe('a block map', () => {
  test('is read from the lowest block up', () => {
    const map = freeChunk();
    carve(map, 0, 12, BlockState.Metadata);
    expect(blocksOf(map)).toEqual([
      { unit: 0, order: 12, state: BlockState.Metadata, units: 1 << 12 },
      { unit: 1 << 12, order: 12, state: BlockState.Free, units: 1 << 12 },
      { unit: 1 << 13, order: 13, state: BlockState.Free, units: 1 << 13 },
      { unit: 1 << 14, order: 14, state: BlockState.Free, units: 1 << 14 },
      { unit: 1 << 15, order: 15, state: BlockState.Free, units: 1 << 15 },
    ]);
  });

  test('names the block that holds any unit', () => {
    const map = freeChunk();
    carve(map, 0, 2, BlockState.Allocated);
    for (const block of blocksOf(map)) {
      for (const unit of [block.unit, block.unit + block.units - 1]) {
        expect(blockAt(map, unit)).toEqual(block);
      }
    }
  });

  test('sampled in the middle of a change still covers the chunk once', () => {
    const torn = freeChunk();
    torn[0] = 0;
    torn[64] = tone(BlockState.Allocated, 3);
    torn[1000] = tone(BlockState.Free, 10);
    expect(coveredUnits(torn)).toBe(UNITS_PER_CHUNK);
    expect(blockAt(torn, 70)).toEqual({
      unit: 64,
      order: 3,
      state: BlockState.Allocated,
      units: 8,
    });
    expect(blockAt(torn, 1001)).toEqual({
      unit: 1001,
      order: 0,
      state: BlockState.Interior,
      units: 1,
    });
  });

  test('knows blocks that are cut short', () => {
    const map = freeChunk();
    carve(map, 0, 12, BlockState.Metadata);
    // Five eighths of order 12, and what is left of it.
    carve(map, 1 << 12, 12, BlockState.Allocated);
    map[1 << 12] = (BlockState.Allocated << 5) | 22;
    map[4096 + 2560] = tone(BlockState.Free, 9);
    map[4096 + 3072] = tone(BlockState.Free, 10);
    expect(coveredUnits(map)).toBe(UNITS_PER_CHUNK);
    const block = { unit: 4096, order: 12, state: BlockState.Allocated, units: 2560 };
    for (const unit of [4096, 4097, 6143, 6144, 6655]) {
      expect(blockAt(map, unit)).toEqual(block);
    }
    expect(blockAt(map, 6656).unit).toBe(6656);
    const census = new Census();
    census.count(map);
    expect(census.bytes(BlockState.Allocated)).toBe(2560 * 16);
    expect(census.blocks(BlockState.Allocated, 12)).toBe(1);
  });
});

describe('a census', () => {
  test('counts blocks by state and order, and its bytes add up to the chunk', () => {
    const map = freeChunk();
    carve(map, 0, 12, BlockState.Metadata);
    carve(map, 1 << 12, 2, BlockState.Cached);
    const census = new Census();
    census.count(map);
    expect(census.blocks(BlockState.Cached, 2)).toBe(1);
    expect(census.bytes(BlockState.Cached)).toBe(64);
    expect(census.bytes(BlockState.Metadata)).toBe(64 * 1024);
    const huge = [
      { address: 0, chunks: 3, deferred: false },
      { address: 0, chunks: 1, deferred: true },
    ];
    const bytes = bytesByState([census, census], huge);
    expect(bytes[BlockState.Allocated]).toBe(3 * CHUNK_BYTES);
    expect(bytes[BlockState.Deferred]).toBe(CHUNK_BYTES);
    expect(bytes.reduce((sum, each) => sum + each, 0)).toBe(6 * CHUNK_BYTES);
  });
});
