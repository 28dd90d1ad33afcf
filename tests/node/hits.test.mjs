/** Hits, which the package serves without the module: they do the very same, and do call it less. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runJob } from './agents.mjs';

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
      const [ours, theirs] = await Promise.all([run(false), run(true)]);
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
