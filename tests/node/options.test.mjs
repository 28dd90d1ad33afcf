/** Options: every range, named in the error, and refused before any memory is made. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Arena } from 'warena';
import { rejectsArenaError } from './errors.mjs';

const MIB = 1 << 20;

test('every option out of its range is refused by name', async () => {
  for (const [name, wrong, range] of [
    [
      'maximumBytes',
      [0, 1, MIB, 2 * MIB + 1, 2 ** 32 + 65_536, NaN, -65_536, '4194304'],
      /multiple of 65536 .*3 MiB \.\.= 4 GiB/,
    ],
    ['cachedOrders', [13, -1, 1.5, NaN, '8', null], /0 \.\.= 12/],
    ['capacity', [0, 257], /1 \.\.= 256/],
    ['burstCapacity', [15, 1025], /16 \.\.= 1024 \(from the capacity on\)/],
    ['batch', [0, 17], /1 \.\.= 16, the capacity/],
    ['transferCapacity', [7, 1025, -8], /8 \.\.= 1024 \(from the batch on\), or 0 for none/],
    ['maximumWorkers', [0, 8193], /1 \.\.= 8192/],
    ['maximumChunks', [0, 4097, 0.5], /1 \.\.= 4096/],
  ]) {
    for (const value of wrong) {
      await rejectsArenaError(
        Arena.create({ [name]: value }),
        'InvalidOption',
        new RegExp(`^Arena.create: ${name} is .*${range.source}`),
      );
    }
  }
  await rejectsArenaError(
    Arena.create({ maxBytes: 1 }),
    'InvalidOption',
    /no option "maxBytes"; there are maximumBytes, cachedOrders/,
  );
  for (const options of [null, 5, 'big']) {
    await rejectsArenaError(
      Arena.create(options),
      'InvalidOption',
      /options is .*; it must be an object/,
    );
  }
});

test('none of these made a memory: the realm still takes any maximum', async () => {
  const arena = await Arena.create({ maximumBytes: 128 * MIB, cachedOrders: undefined });
  assert.equal(arena.snapshot().config.cachedOrders, 8);
  assert.throws(
    () => arena.memory.grow(128 * 16),
    RangeError,
    'the memory’s maximum is what was asked for',
  );
  arena.detach();
});

for (const [name, options] of Object.entries({
  'the least of everything': {
    cachedOrders: 1,
    capacity: 1,
    burstCapacity: 1,
    batch: 1,
    transferCapacity: 1,
    maximumWorkers: 1,
    maximumChunks: 8,
  },
  'the most of everything': {
    cachedOrders: 12,
    capacity: 256,
    burstCapacity: 1024,
    batch: 256,
    transferCapacity: 1024,
    maximumWorkers: 8192,
    maximumChunks: 4096,
  },
  'no caches': { cachedOrders: 0 },
  'spill only': { transferCapacity: 0 },
})) {
  test(`${name} works`, async () => {
    const arena = await Arena.create(options);
    const pointers = Array.from({ length: 3000 }, (_, index) => arena.alloc(1 + (index % 5000)));
    const { config, workers, transfer } = arena.snapshot();
    for (const [option, value] of Object.entries(options)) {
      assert.equal(config[option], value);
    }
    assert.equal(workers[0].fill.length, config.cachedOrders);
    assert.equal(transfer.length, config.transferCapacity === 0 ? 0 : config.cachedOrders);
    pointers.forEach((pointer) => arena.free(pointer));
    assert.equal(arena.verify().allocatedObjects, 0);
    arena.detach();
  });
}
