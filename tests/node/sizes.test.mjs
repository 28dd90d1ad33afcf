/** Sizes: what is refused, that refusing costs nothing, and that out of memory is an answer. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Arena } from 'warena';
import { throwsArenaError } from './errors.mjs';

const arena = await Arena.create({ maximumBytes: 4 << 20 });

after(() => assert.equal(arena.verify().allocatedObjects, 0));

test('what is no 32-bit size is refused, and nothing grows (1)', () => {
  const before = arena.memory.buffer.byteLength;
  const wrong = [
    -1,
    NaN,
    1.5,
    2 ** 32 + 16,
    2 ** 53,
    Infinity,
    -Infinity,
    '3',
    3n,
    null,
    undefined,
    {},
    [8],
    true,
  ];
  const pointer = arena.alloc(100);
  for (const bytes of wrong) {
    for (const [name, call] of Object.entries({
      alloc: () => arena.alloc(bytes),
      allocZeroed: () => arena.allocZeroed(bytes),
      allocAligned: () => arena.allocAligned(bytes, 16),
      allocNowait: () => arena.allocNowait(bytes),
      allocNogrow: () => arena.allocNogrow(bytes),
      allocBulk: () => arena.allocBulk(bytes, 2),
      realloc: () => arena.realloc(pointer, bytes),
      reserve: () => arena.reserve(bytes, 1),
    })) {
      throwsArenaError(
        call,
        'InvalidSize',
        new RegExp(`^${name}: the size is .*; it must be an integer of 0 \\.\\.= 0xffffffff`),
      );
    }
  }
  arena.free(pointer);
  for (const [bytes, code, pattern] of [
    [0xfffffff7, 'TooLarge', 'larger than any memory: at most 0xfff00000 bytes'],
    [0xffffffff, 'TooLarge', 'larger than any memory'],
    [0xfff00000, 'OutOfMemory', 'out of memory'],
    [0x80000001, 'OutOfMemory', 'out of memory'],
    [0x400001, 'OutOfMemory', 'out of memory'],
  ]) {
    for (let time = 0; time < 1000; time += 1) {
      throwsArenaError(
        () => arena.alloc(bytes),
        code,
        new RegExp(`^alloc\\(0x${bytes.toString(16)}\\): ${pattern}`),
        { bytes },
      );
    }
  }
  assert.equal(arena.memory.buffer.byteLength, before);
  arena.free(arena.alloc(16));
});

test('alloc(0) is refused, free(0) does nothing (2)', () => {
  const before = arena.stats();
  for (let time = 0; time < 1000; time += 1) {
    throwsArenaError(
      () => arena.alloc(0),
      'InvalidSize',
      /^alloc\(0x0\): size is 0; ask for at least 1 byte/,
      { bytes: 0 },
    );
    throwsArenaError(() => arena.alloc(-0), 'InvalidSize', /size is 0/);
    arena.free(0);
  }
  assert.deepEqual(arena.stats(), before);
});

for (const bytes of [16, 100, 4096, 1 << 19, 1 << 20, 3 << 20]) {
  test(`out of memory at ${bytes} bytes is an answer, and the arena serves again (5)`, () => {
    const pointers = [];
    const fill = () => {
      for (;;) {
        pointers.push(arena.alloc(bytes));
      }
    };
    throwsArenaError(
      fill,
      'OutOfMemory',
      /out of memory: the memory is at its maximum; free something or/,
      { bytes },
    );
    const full = arena.stats();
    for (let time = 0; time < 1000; time += 1) {
      throwsArenaError(() => arena.alloc(bytes), 'OutOfMemory', /out of memory/);
    }
    const { heapLocks: _, ...still } = arena.stats();
    const { heapLocks: __, ...was } = full;
    assert.deepEqual(still, was, 'nothing changes by asking');
    arena.verify();
    pointers.forEach((pointer) => arena.free(pointer));
    arena.free(arena.alloc(1 << 19));
    assert.equal(arena.verify().allocatedObjects, 0);
  });
}

test('two live blocks freed in order leak nothing (24)', () => {
  arena.free(arena.alloc(85_196));
  const before = arena.stats().ownedBytes;
  for (let time = 0; time < 10_000; time += 1) {
    const pointers = [arena.alloc(85_196), arena.alloc(80_000)];
    pointers.forEach((pointer) => arena.free(pointer));
  }
  assert.equal(arena.stats().ownedBytes, before);
});
