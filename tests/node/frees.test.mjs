/** Frees: every wrong pointer is refused by its kind, and changes nothing. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Arena } from 'warena';
import { runJob } from './agents.mjs';
import { throwsArenaError } from './errors.mjs';

const arena = await Arena.create({ maximumBytes: 2 ** 32 });

after(() => assert.equal(arena.verify().allocatedObjects, 0));

test('an object is freed once, wherever it sits meanwhile (14)', () => {
  // More than a cache comes to hold: the rest is back in the heap.
  const pointers = Array.from({ length: 2000 }, () => arena.alloc(64));
  pointers.forEach((pointer) => arena.free(pointer));
  const states = new Set();
  for (const pointer of pointers) {
    const code = codeOf(pointer);
    throwsArenaError(() => arena.free(pointer), code, /already/, { pointer });
    states.add(code);
  }
  assert.deepEqual([...states].sort(), ['DoubleFree', 'NotAllocated']);
  const again = [arena.alloc(64), arena.alloc(64)];
  assert.notEqual(again[0], again[1]);
  again.forEach((pointer) => arena.free(pointer));
  assert.equal(arena.verify().allocatedObjects, 0);
});

function codeOf(pointer) {
  try {
    arena.free(pointer);
  } catch ({ code }) {
    return code;
  }
  return assert.fail(`0x${pointer.toString(16)} was freed twice`);
}

test('what another agent freed is not freed again (14)', async () => {
  const pointers = Array.from({ length: 40 }, () => arena.alloc(64));
  const { codes } = await runJob('freeAll', arena.handle(), {
    pointers: [...pointers, ...pointers],
  });
  assert.ok(codes.slice(0, 40).every((code) => code === 'freed'));
  assert.ok(
    codes.slice(40).every((code) => code === 'DoubleFree' || code === 'NotAllocated'),
    codes.join(),
  );
  pointers.forEach((pointer) => assert.match(codeOf(pointer), /^(DoubleFree|NotAllocated)$/));
});

test('foreign, interior, unaligned and metadata pointers are told apart (15)', () => {
  const pointer = arena.alloc(1000);
  arena.u8(pointer, 1000).fill(0x77);
  const before = arena.verify();
  const stats = arena.stats();
  const chunk = pointer - (pointer % 0x10_0000);
  const end = arena.memory.buffer.byteLength;
  for (const [wrong, code, pattern] of [
    [pointer + 1, 'Unaligned', /unaligned pointer: every block starts at a multiple of 16/],
    [pointer + 8, 'Unaligned', /unaligned/],
    [pointer + 16, 'Interior', /interior pointer: inside an allocated block/],
    [pointer + 992, 'Interior', /interior/],
    [8, 'Foreign', /foreign pointer: not in any chunk of this arena/],
    [0x400, 'Foreign', /foreign/],
    [end + 16, 'Foreign', /foreign/],
    [0xffff_fff0, 'Foreign', /foreign/],
    [chunk, 'Metadata', /the allocator's own metadata/],
    [arena.handle().address, 'Metadata', /metadata/],
  ]) {
    throwsArenaError(() => arena.free(wrong), code, pattern, { pointer: wrong });
    throwsArenaError(
      () => arena.free(wrong),
      code,
      new RegExp(`^free\\(0x${wrong.toString(16)}\\): `),
    );
  }
  assert.deepEqual(arena.verify(), before);
  assert.deepEqual({ ...arena.stats(), heapLocks: 0 }, { ...stats, heapLocks: 0 });
  assert.ok(arena.u8(pointer, 1000).every((byte) => byte === 0x77));
  arena.free(pointer);
});

test('what is no pointer is refused', () => {
  for (const wrong of [
    NaN,
    1.5,
    2 ** 32,
    -(2 ** 31) - 1,
    Infinity,
    '16',
    16n,
    null,
    undefined,
    {},
  ]) {
    throwsArenaError(
      () => arena.free(wrong),
      'InvalidPointer',
      /^free: the pointer is .*; it must be a 32-bit integer, as alloc returns it/,
    );
  }
});

test('pointers above 2 GiB are unsigned, and taken in both forms (18)', () => {
  arena.memory.grow(2 ** 31 / 65_536);
  const pointers = [];
  do {
    pointers.push(arena.alloc(1 << 19));
  } while (pointers.at(-1) < 2 ** 31);
  const high = pointers.at(-1);
  assert.ok(high >= 2 ** 31 && high < 2 ** 32);
  const small = arena.alloc(1 << 18);
  pointers.push(small);
  arena.u8(high | 0, 100).fill(9);
  assert.ok(arena.u8(high, 100).every((byte) => byte === 9));
  assert.ok(arena.snapshot().chunks.every(({ address }) => address >= 0));
  throwsArenaError(() => arena.free((high + 16) | 0), 'Interior', /interior/, {
    pointer: high + 16,
  });
  for (const pointer of [high, high | 0]) {
    assert.equal(arena.usableSize(pointer), 1 << 19);
    assert.equal(arena.owns(pointer), true);
    assert.equal(arena.realloc(pointer, 1 << 19), high);
  }
  const huge = arena.alloc(1 << 30);
  assert.ok(huge >= 2 ** 31 && huge + 2 ** 30 <= 2 ** 32);
  assert.equal(arena.usableSize(huge | 0), 1 << 30);
  const bulk = arena.allocBulk(1 << 13, 64);
  assert.ok(bulk.every((pointer) => pointer >= 2 ** 31));
  assert.deepEqual(arena.freeBulk([...bulk, huge].map((pointer) => pointer | 0)), []);
  pointers.forEach((pointer) => arena.free(pointer | 0));
  throwsArenaError(() => arena.free(high), codeOf(high), /already|never|chunk/, { pointer: high });
});
