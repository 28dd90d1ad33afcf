/** Hits, which the package serves without the module: they do the very same, and do call it less. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Arena, BlockState } from 'warena';
import { runJob } from './agents.mjs';
import { throwsArenaError } from './errors.mjs';

const SETTINGS = {
  'as by default': {},
  'of all orders, in small stacks': { cachedOrders: 12, capacity: 4, burstCapacity: 4, batch: 2 },
  'without transfer caches': { transferCapacity: 0 },
  'without caches': { cachedOrders: 0 },
};

for (const [name, options] of Object.entries(SETTINGS)) {
  test(`the package and the exports do the same: ${name}`, async () => {
    for (const seed of [1, 2]) {
      const run = (direct) =>
        runJob('callAtRandom', undefined, { seed, steps: 6000, options, direct });
      const ours = await run(false);
      const theirs = await run(true);
      ours.log.forEach((entry, index) =>
        assert.deepEqual(entry, theirs.log[index], `seed ${seed}, entry ${index}`),
      );
      assert.equal(ours.log.length, theirs.log.length);
      const codes = new Set(ours.log.map((entry) => entry?.code));
      for (const code of ['DoubleFree', 'Unaligned', 'Interior', 'Metadata', 'Foreign', 'InvalidSize']) {
        // An object is back in the heap at once where nothing is cached.
        assert.ok(codes.has(code) || (code === 'DoubleFree' && options.cachedOrders === 0), code);
      }
    }
  });
}

test('a hit calls the module only where memory has grown, and then once', async () => {
  const options = { capacity: 16, burstCapacity: 16 };
  const { hits, needless, lengths, allocatedObjects } = await runJob('countHits', undefined, {
    seed: 3,
    steps: 4000,
    options,
  });
  assert.ok(hits > 1000, `${hits} hits`);
  assert.ok(lengths > 2, 'memory has grown');
  assert.ok(needless <= lengths, `${needless} calls for hits, ${lengths} lengths of the memory`);
  assert.equal(allocatedObjects, 0);
});

test('above 2 GiB hits are served as well', async () => {
  const { pointer, before, after, allocatedObjects } = await runJob('hitsHighUp');
  assert.ok(pointer >= 2 ** 31 && pointer < 2 ** 32, `${pointer}`);
  assert.deepEqual(after, before);
  assert.equal(allocatedObjects, 0);
});

test('a counter of allocations carries into its high half', async () => {
  const { counted, calls, allocatedObjects } = await runJob('carry');
  assert.equal(counted, 0x1_0000_0002n);
  assert.equal(calls, 1);
  assert.equal(allocatedObjects, 0);
});

test('bytes of a program that look like a block map are none', async () => {
  const arena = await Arena.create({ maximumBytes: 16 << 20 });
  const bytes = 3 << 20;
  const huge = arena.alloc(bytes);
  // What the byte of an allocated block of 64 bytes would be.
  const order = 2;
  arena.u8(huge, bytes).fill((BlockState.Allocated << 5) | order);
  const inside = [huge + (1 << 16), huge + (1 << 20) + 64, huge + bytes - 64];
  const refuse = (code) =>
    inside.forEach((pointer) => throwsArenaError(() => arena.free(pointer), code, /./, { pointer }));
  refuse('Interior');
  arena.free(huge);
  refuse('NotAllocated');
  assert.equal(arena.verify().allocatedObjects, 0);
  arena.detach();
});
