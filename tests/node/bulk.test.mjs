/** Many objects at once: all of them or none, each free of its own, each refusal named. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Arena, ArenaError } from 'warena';
import { throwsArenaError } from './errors.mjs';

const arena = await Arena.create({ maximumBytes: 8 << 20 });

after(() => assert.equal(arena.verify().allocatedObjects, 0));

test('allocBulk gives objects of their own, one behind the other', () => {
  const pointers = arena.allocBulk(100, 64);
  assert.ok(pointers instanceof Uint32Array && pointers.buffer instanceof ArrayBuffer);
  assert.deepEqual(
    [...pointers],
    Array.from({ length: 64 }, (_, index) => pointers[0] + index * 128),
  );
  assert.equal(arena.verify().allocatedObjects, 64);
  assert.ok(pointers.every((pointer) => arena.usableSize(pointer) === 128));
  // One by one as well as together.
  pointers.subarray(0, 20).forEach((pointer) => arena.free(pointer));
  assert.deepEqual(arena.freeBulk(pointers.subarray(20)), []);
  assert.equal(arena.verify().allocatedObjects, 0);
});

test('a bulk is at most a block, and nothing less than all of it', () => {
  const most = arena.allocBulk(16, 32_768);
  assert.equal(most.length, 32_768);
  assert.deepEqual(arena.freeBulk(most), []);
  const [whole] = arena.allocBulk(1 << 19, 1);
  arena.free(whole);
  for (const [bytes, count] of [
    [16, 65_536],
    [32, 32_768],
    [1 << 19, 2],
    [(1 << 19) + 1, 1],
    [16, 2 ** 31],
  ]) {
    throwsArenaError(
      () => arena.allocBulk(bytes, count),
      'TooLarge',
      new RegExp(`^allocBulk\\(0x${bytes.toString(16)}, 0x${count.toString(16)}\\): larger than`),
      { bytes },
    );
  }
  for (const count of [0, 3, 100, -1, 1.5, NaN, 2 ** 32, '4', undefined]) {
    throwsArenaError(
      () => arena.allocBulk(64, count),
      'InvalidSize',
      /^allocBulk: the count is .*; it must be a power of two/,
    );
  }
  throwsArenaError(() => arena.allocBulk(0, 4), 'InvalidSize', /size is 0/);
  assert.equal(arena.verify().allocatedObjects, 0);
});

test('out of memory in bulk is an answer, and takes nothing (5)', () => {
  const pointers = [];
  throwsArenaError(
    () => {
      for (;;) {
        pointers.push(...arena.allocBulk(1 << 13, 64));
      }
    },
    'OutOfMemory',
    /^allocBulk\(0x2000, 0x40\): out of memory/,
  );
  assert.equal(arena.verify().allocatedObjects, pointers.length);
  assert.deepEqual(arena.freeBulk(pointers), []);
  assert.equal(arena.verify().allocatedObjects, 0);
});

test('freeBulk names each that it refuses, and frees the others', () => {
  const pointers = [...arena.allocBulk(64, 8)];
  const wrong = [...pointers.slice(0, 4), pointers[0], 0, pointers[4] + 8, pointers[5] + 16, 8];
  const refusals = arena.freeBulk([...wrong, ...pointers.slice(4)]);
  assert.deepEqual(
    refusals.map(({ index, error }) => [index, error.code, error.pointer]),
    [
      [4, 'NotAllocated', pointers[0]],
      [6, 'Unaligned', pointers[4] + 8],
      [7, 'Interior', pointers[5] + 16],
      [8, 'Foreign', 8],
    ],
  );
  const [{ error }] = refusals;
  assert.ok(error instanceof ArenaError);
  assert.match(error.message, /^freeBulk: 0x[0-9a-f]+ at index 4: not allocated: freed already/);
  assert.equal(arena.verify().allocatedObjects, 0);
});

test('freeBulk takes any array of pointers, in both forms, and nothing else', () => {
  const [first, second, third] = arena.allocBulk(64, 4);
  assert.equal(arena.freeBulk(new Int32Array([first])).length, 0);
  const before = arena.verify();
  for (const wrong of [[second, 1.5], [second, undefined], [second, '3'], [2 ** 32]]) {
    throwsArenaError(
      () => arena.freeBulk(wrong),
      'InvalidPointer',
      /^freeBulk: the pointer is .*; it must be a 32-bit integer/,
    );
  }
  for (const wrong of [second, null, undefined, 'pointers', new Map()]) {
    throwsArenaError(
      () => arena.freeBulk(wrong),
      'InvalidPointer',
      /^freeBulk: the pointers are .*; they must be an array/,
    );
  }
  assert.deepEqual(arena.verify(), before, 'nothing was freed');
  assert.deepEqual(arena.freeBulk([second, third, third + 64]), []);
  assert.deepEqual(arena.freeBulk([]), []);
});

test('more pointers than are freed at once are all freed, and named by their index', () => {
  const pointers = [...arena.allocBulk(16, 8192)];
  const refusals = arena.freeBulk([...pointers, pointers[0], pointers[8191]]);
  assert.deepEqual(
    refusals.map(({ index }) => index),
    [8192, 8193],
  );
  const { heapLocks } = arena.stats();
  arena.freeBulk(arena.allocBulk(16, 2048));
  assert.ok(arena.stats().heapLocks - heapLocks <= 2, 'one taking of the lock for so many');
});
