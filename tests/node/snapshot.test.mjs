/** Snapshots: what they say is what the arena is, and they copy. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Arena, BlockState, CHUNK_BYTES, UNITS_PER_CHUNK, blockState, blockUnits } from 'warena';
import { runJob } from './agents.mjs';

const options = {
  cachedOrders: 6,
  capacity: 12,
  burstCapacity: 40,
  batch: 4,
  transferCapacity: 32,
  maximumWorkers: 9,
  maximumChunks: 60,
};
const arena = await Arena.create({ maximumBytes: 64 << 20, ...options });

after(() => assert.equal(arena.verify().allocatedObjects, 0));

/** Bytes by state, counted from the block maps. */
function census(snapshot) {
  const bytes = new Map(Object.values(BlockState).map((state) => [state, 0]));
  for (const { map } of snapshot.chunks) {
    for (const byte of map) {
      if (byte !== 0) {
        bytes.set(blockState(byte), bytes.get(blockState(byte)) + 16 * blockUnits(byte));
      }
    }
  }
  return bytes;
}

test('settings, block maps and figures agree with stats', () => {
  const pointers = Array.from({ length: 300 }, (_, index) => arena.alloc(10 + index * 13));
  pointers.splice(0, 150).forEach((pointer) => arena.free(pointer));
  const snapshot = arena.snapshot();
  const stats = arena.stats();
  assert.deepEqual(snapshot.config, options);
  assert.equal(snapshot.memoryBytes, arena.memory.buffer.byteLength);
  assert.equal(snapshot.ownedBytes, stats.ownedBytes);
  assert.equal(snapshot.chunks.length, stats.chunks);
  const bytes = census(snapshot);
  assert.equal(
    [...bytes.values()].reduce((sum, part) => sum + part),
    stats.ownedBytes,
  );
  assert.equal(bytes.get(BlockState.Free) + bytes.get(BlockState.Zeroed), stats.freeBytes);
  assert.ok(bytes.get(BlockState.Zeroed) > 0, 'some of it was never used');
  assert.equal(bytes.get(BlockState.Allocated), stats.allocatedBytes);
  assert.equal(bytes.get(BlockState.Cached), stats.cachedBytes);
  assert.equal(bytes.get(BlockState.Transfer), stats.inTransferBytes);
  assert.equal(bytes.get(BlockState.Metadata), stats.metadataBytes);
  for (const { address, map } of snapshot.chunks) {
    assert.equal(address % CHUNK_BYTES, 0);
    assert.equal(map.length, UNITS_PER_CHUNK);
    assert.ok(map.buffer instanceof ArrayBuffer, 'a copy, not a view of the shared memory');
  }
  const { heap, workers, transfer } = snapshot;
  assert.deepEqual(
    [heap.splits, heap.merges, heap.grows, heap.releases, heap.freeBytes, heap.lockAcquisitions],
    [stats.splits, stats.merges, stats.grows, stats.releases, stats.freeBytes, stats.heapLocks],
  );
  assert.equal(workers.length, 1);
  const [own] = workers;
  const sum = (list) => list.reduce((total, value) => total + value, 0);
  assert.deepEqual([own.slot, own.attached], [0, true]);
  assert.equal(own.fill.length, options.cachedOrders);
  assert.equal(sum(own.allocations), stats.cacheAllocations);
  assert.equal(sum(own.frees), stats.cacheFrees);
  assert.equal(own.hits, stats.cacheHits);
  assert.equal(own.direct, stats.directAllocations + stats.directFrees);
  assert.deepEqual(
    [own.refillsFromTransfer, own.refillsFromHeap, own.spillsToTransfer, own.spillsToHeap],
    [stats.refillsFromTransfer, stats.refillsFromHeap, stats.spillsToTransfer, stats.spillsToHeap],
  );
  assert.equal(sum(own.fill.map((fill, order) => fill * (16 << order))), stats.cachedBytes);
  assert.deepEqual(
    transfer.map(({ order, capacity }) => [order, capacity]),
    // As many of the largest batches as it has room for of the smallest: caches grow by missing up
    // to 8 KiB of objects, and these to no more than forty.
    [0, 1, 2, 3, 4, 5].map((order) => {
      const steady = Math.max(12, Math.min(40, 8192 / (16 << order)));
      return [order, Math.floor((32 * steady) / 12)];
    }),
  );
  assert.equal(
    sum(transfer.map(({ order, objects }) => objects * (16 << order))),
    stats.inTransferBytes,
  );
  pointers.forEach((pointer) => arena.free(pointer));
});

test('an earlier snapshot is used again', () => {
  const first = arena.snapshot();
  const { chunks, workers, transfer } = first;
  const maps = chunks.map(({ map }) => map);
  const pointer = arena.alloc(32);
  const second = arena.snapshot(first);
  assert.equal(second, first);
  assert.equal(second.chunks, chunks);
  assert.equal(second.workers, workers);
  assert.equal(second.transfer, transfer);
  second.chunks.slice(0, maps.length).forEach(({ map }, index) => assert.equal(map, maps[index]));
  const { address, map } = second.chunks.find(
    (chunk) => chunk.address === pointer - (pointer % CHUNK_BYTES),
  );
  assert.equal(map[(pointer - address) / 16], (BlockState.Allocated << 5) | 1);
  arena.free(pointer);
  arena.snapshot(first);
  assert.equal(map[(pointer - address) / 16], (BlockState.Cached << 5) | 1);
});

test('huge blocks are runs of chunks, apart from the chunks of blocks', () => {
  const before = arena.snapshot();
  assert.deepEqual(before.huge, []);
  const pointers = [3 << 20, (1 << 20) + 1, 1 << 19, 600_000].map((bytes) => arena.alloc(bytes));
  const snapshot = arena.snapshot();
  const runs = [
    { address: pointers[0], chunks: 3, deferred: false },
    { address: pointers[1], chunks: 2, deferred: false },
    { address: pointers[3], chunks: 1, deferred: false },
  ];
  assert.deepEqual(
    snapshot.huge,
    runs.sort((left, right) => left.address - right.address),
  );
  const { ownedBytes, hugeChunks } = arena.stats();
  assert.equal(hugeChunks, 6);
  assert.equal(snapshot.ownedBytes, ownedBytes);
  assert.equal(snapshot.ownedBytes, (snapshot.chunks.length + 6) * CHUNK_BYTES);
  assert.equal(arena.verify().hugeBlocks, 3);
  pointers.forEach((pointer) => arena.free(pointer));
  assert.equal(arena.snapshot(snapshot), snapshot);
  assert.deepEqual(snapshot.huge, []);
});

test('a reused snapshot forgets chunks that were given back', () => {
  const before = arena.snapshot().chunks.length;
  const pointers = Array.from({ length: 8 }, () => arena.alloc(1 << 19));
  const snapshot = arena.snapshot();
  assert.ok(snapshot.chunks.length > before);
  pointers.forEach((pointer) => arena.free(pointer));
  arena.snapshot(snapshot);
  assert.equal(snapshot.chunks.length, arena.stats().chunks);
});

test('snapshots while workers run never say what cannot be', async () => {
  const handle = arena.handle();
  let running = true;
  const workers = Promise.all(
    [0, 1].map((agent) => runJob('mallocFree', handle, { agent, cycles: 400, most: 9000 })),
  );
  workers.finally(() => (running = false)).catch(() => {});
  let snapshot;
  let samples = 0;
  while (running) {
    snapshot = arena.snapshot(snapshot);
    samples += 1;
    for (const worker of snapshot.workers) {
      assert.ok(
        worker.fill.every(
          (fill, order) =>
            Number.isInteger(fill) && fill >= 0 && fill <= worker.capacity[order],
        ) && worker.capacity.every((capacity) => capacity >= 12 && capacity <= 40),
      );
      assert.ok([...worker.frees, ...worker.allocations, worker.hits].every((count) => count >= 0));
    }
    assert.ok(
      snapshot.transfer.every(({ objects, capacity }) => objects >= 0 && objects <= capacity),
    );
    const { allocatedBytes, ownedBytes } = arena.stats();
    assert.ok(allocatedBytes >= 0 && allocatedBytes <= ownedBytes);
    await new Promise(setImmediate);
  }
  await workers;
  assert.ok(samples > 10, `${samples} samples`);
});
