import { BlockState, CHUNK_BYTES, UNITS_PER_CHUNK } from 'warena';
import { describe, expect, test } from 'vitest';
import { blockAt, forEachBlock, type Block } from '../src/model/block_map.ts';
import { Census, bytesByState } from '../src/model/census.ts';
import { carve, freeChunk, tone } from './fake_map.ts';

function blocksOf(map: Uint8Array): Block[] {
  const blocks: Block[] = [];
  forEachBlock(map, (unit, order, state) => blocks.push({ unit, order, state }));
  return blocks;
}

function coveredUnits(map: Uint8Array): number {
  return blocksOf(map).reduce((sum, { order }) => sum + (1 << order), 0);
}

describe('a block map', () => {
  test('is read from the lowest block up', () => {
    const map = freeChunk();
    carve(map, 0, 12, BlockState.Metadata);
    expect(blocksOf(map)).toEqual([
      { unit: 0, order: 12, state: BlockState.Metadata },
      { unit: 1 << 12, order: 12, state: BlockState.Free },
      { unit: 1 << 13, order: 13, state: BlockState.Free },
      { unit: 1 << 14, order: 14, state: BlockState.Free },
      { unit: 1 << 15, order: 15, state: BlockState.Free },
    ]);
  });

  test('names the block that holds any unit', () => {
    const map = freeChunk();
    carve(map, 0, 2, BlockState.Allocated);
    for (const block of blocksOf(map)) {
      for (const unit of [block.unit, block.unit + (1 << block.order) - 1]) {
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
    expect(blockAt(torn, 70)).toEqual({ unit: 64, order: 3, state: BlockState.Allocated });
    expect(blockAt(torn, 1001)).toEqual({ unit: 1001, order: 0, state: BlockState.Interior });
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
