import { BlockState, CHUNK_BYTES, type Snapshot } from 'warena';
import { describe, expect, test } from 'vitest';
import { ChunkWatch } from '../src/model/chunk_watch.ts';
import { carve, freeChunk } from './fake_map.ts';

/** A stand-in for `arena.snapshot(into)`: copies the maps it was made with. */
function taker(maps: Uint8Array[]): (into?: Snapshot) => Snapshot {
  return (into) => {
    const chunks = into?.chunks ?? [];
    chunks.length = Math.min(chunks.length, maps.length);
    maps.forEach((map, index) => {
      chunks[index] ??= { address: (index + 1) * CHUNK_BYTES, map: new Uint8Array(map.length) };
      chunks[index].map.set(map);
    });
    return { chunks } as Snapshot;
  };
}

function drain(watch: ChunkWatch): number[] {
  const indices: number[] = [];
  for (let chunk = watch.nextChanged(); chunk !== undefined; chunk = watch.nextChanged()) {
    indices.push(chunk.index);
  }
  return indices;
}

describe('the watch over chunks', () => {
  test('hands out a new chunk, then only those whose map changed', () => {
    const maps = [freeChunk(), freeChunk(), freeChunk()];
    const watch = new ChunkWatch();
    const take = taker(maps);
    watch.sample(take);
    expect(drain(watch)).toEqual([0, 1, 2]);
    watch.sample(take);
    expect(drain(watch)).toEqual([]);
    carve(maps[1]!, 0, 4, BlockState.Allocated);
    watch.sample(take);
    expect(drain(watch)).toEqual([1]);
    watch.sample(take);
    expect(drain(watch)).toEqual([]);
  });

  test('keeps a mark until the chunk is handed out, and lets none starve', () => {
    const maps = [freeChunk(), freeChunk(), freeChunk()];
    const watch = new ChunkWatch();
    const take = taker(maps);
    watch.sample(take);
    const seen = [0, 1, 2].map((round) => {
      carve(maps[0]!, 0, 10 - round, BlockState.Allocated);
      watch.sample(take);
      return watch.nextChanged()!.index;
    });
    expect(seen).toEqual([0, 1, 2]);
    expect(drain(watch)).toEqual([0]);
  });

  test('follows growth, shrinking and a new palette', () => {
    const maps = [freeChunk()];
    const watch = new ChunkWatch();
    watch.sample(taker(maps));
    drain(watch);
    maps.push(freeChunk());
    watch.sample(taker(maps));
    expect(drain(watch)).toEqual([1]);
    watch.markAll();
    expect(drain(watch).sort()).toEqual([0, 1]);
    maps.pop();
    watch.sample(taker(maps));
    expect(watch.chunks).toHaveLength(1);
    watch.clear();
    expect(watch.snapshot).toBeUndefined();
  });
});
