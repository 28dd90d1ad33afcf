/** Objects of a certain shape: zeroed, aligned, resized, huge; and what can be asked about one. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Arena, CHUNK_BYTES } from 'warena';
import { throwsArenaError } from './errors.mjs';

const arena = await Arena.create({ maximumBytes: 64 << 20 });

after(() => assert.equal(arena.verify().allocatedObjects, 0));

/** Fills an object with bytes that tell where they stand. */
function write(pointer, bytes) {
  arena.u8(pointer, bytes).forEach((_, index, view) => (view[index] = (index * 7 + 3) & 0xff));
}

/** Whether the first `bytes` bytes are still those. */
function holds(pointer, bytes) {
  return arena.u8(pointer, bytes).every((byte, index) => byte === ((index * 7 + 3) & 0xff));
}

const isZero = (pointer, bytes) => arena.u8(pointer, bytes).every((byte) => byte === 0);

test('allocZeroed gives zeroes, whoever had the memory before', () => {
  for (let round = 0; round < 3; round += 1) {
    const objects = [1, 16, 100, 2048, 5000, 1 << 19, (2 << 20) + 1].map((bytes) => {
      const pointer = arena.allocZeroed(bytes);
      assert.ok(isZero(pointer, bytes), `${bytes} bytes in round ${round}`);
      arena.u8(pointer, bytes).fill(0xff);
      return pointer;
    });
    objects.forEach((pointer) => arena.free(pointer));
  }
});

test('allocAligned meets every alignment at every size around it (7)', () => {
  // Warm caches must not be given out where more is asked for than they are aligned to.
  Array.from({ length: 32 }, () => arena.alloc(8)).forEach((pointer) => arena.free(pointer));
  for (let alignment = 1; alignment <= CHUNK_BYTES; alignment *= 2) {
    for (const bytes of [1, alignment - 1, alignment, alignment + 1].filter((size) => size > 0)) {
      const pointer = arena.allocAligned(bytes, alignment);
      assert.equal(pointer % alignment, 0, `${bytes} bytes at ${alignment}`);
      assert.ok(arena.usableSize(pointer) >= bytes);
      write(pointer, bytes);
      assert.ok(holds(pointer, bytes));
      arena.free(pointer);
    }
  }
  for (const alignment of [0, 3, 24, 2 * CHUNK_BYTES, 0xffff_ffff, -16, 1.5, NaN, '16', undefined]) {
    throwsArenaError(
      () => arena.allocAligned(64, alignment),
      'BadAlignment',
      /^allocAligned.*the alignment .*must be a power of two, 1 \.\.= 0x100000/,
    );
  }
});

test('an alignment costs no more than the size', () => {
  const before = arena.stats().allocatedBytes;
  const pointer = arena.allocAligned(16, 1 << 16);
  assert.equal(arena.usableSize(pointer), 16);
  assert.equal(arena.stats().allocatedBytes - before, 16);
  arena.free(pointer);
});

test('realloc keeps the bytes, in place where it can, and moves where it must (9)', () => {
  let pointer = arena.alloc(100);
  write(pointer, 100);
  assert.equal(arena.realloc(pointer, 128), pointer, 'the block has room for it');
  const small = arena.realloc(pointer, 40);
  assert.notEqual(small, pointer, 'what caches hold is a block of its own');
  assert.equal(arena.usableSize(small), 64);
  pointer = arena.realloc(small, 150_000);
  assert.equal(arena.usableSize(pointer), 163_840, 'five eighths of 256 KiB');
  assert.equal(arena.realloc(pointer, 100_000), pointer, 'a large block shrinks where it is');
  assert.equal(arena.usableSize(pointer), 131_072);
  for (const bytes of [64, 300, 5000, 1 << 19, 1 << 20, 3 << 20, (1 << 20) + 1, 70_000, 40]) {
    pointer = arena.realloc(pointer, bytes);
    assert.ok(arena.usableSize(pointer) >= bytes);
    assert.ok(holds(pointer, 40), `at ${bytes} bytes`);
    arena.u8(pointer + 40, bytes - 40).fill(0xee);
  }
  arena.free(pointer);
});

test('realloc grows into a free buddy', () => {
  // The lower half of a block whose upper half is free.
  const [low, high] = arena.allocBulk(1 << 16, 2);
  write(low, 1 << 16);
  arena.free(high);
  arena.flush();
  assert.equal(arena.realloc(low, 1 << 17), low);
  assert.ok(holds(low, 1 << 16));
  arena.free(low);
});

test('a realloc that is refused leaves the object as it was (9)', () => {
  const pointer = arena.alloc(100);
  write(pointer, 100);
  for (const [bytes, code] of [
    [0, 'InvalidSize'],
    [0xffff_fff0, 'TooLarge'],
    [0x4000_0000, 'OutOfMemory'],
  ]) {
    throwsArenaError(
      () => arena.realloc(pointer, bytes),
      code,
      new RegExp(`^realloc\\(0x${pointer.toString(16)}, 0x${bytes.toString(16)}\\): `),
      { pointer, bytes },
    );
    assert.equal(arena.usableSize(pointer), 128);
    assert.ok(holds(pointer, 100));
  }
  const allocated = arena.realloc(0, 8);
  assert.equal(arena.usableSize(allocated), 16, 'realloc(0, …) allocates');
  arena.free(allocated);
  arena.free(pointer);
  for (const [wrong, code] of [
    [pointer, 'DoubleFree'],
    [pointer + 16, 'DoubleFree'],
    [pointer + 8, 'Unaligned'],
    [16, 'Foreign'],
    ['16', 'InvalidPointer'],
  ]) {
    throwsArenaError(() => arena.realloc(wrong, 200), code, /^realloc/);
  }
});

test('ten thousand reallocs leave nothing behind (9)', () => {
  const round = () => {
    let pointer = arena.alloc(40);
    write(pointer, 40);
    for (const bytes of [400, 4000, 40_000, 17]) {
      pointer = arena.realloc(pointer, bytes);
    }
    assert.ok(holds(pointer, 17));
    arena.free(pointer);
  };
  round();
  const before = arena.memory.buffer.byteLength;
  for (let time = 0; time < 2500; time += 1) {
    round();
  }
  assert.equal(arena.memory.buffer.byteLength, before);
  assert.equal(arena.verify().allocatedObjects, 0);
});

test('huge objects are whole chunks, are checked, and their memory serves again', () => {
  const pointer = arena.alloc(20_000_000);
  assert.equal(pointer % CHUNK_BYTES, 0);
  assert.equal(arena.usableSize(pointer), 20 * CHUNK_BYTES);
  write(pointer, 100);
  throwsArenaError(() => arena.free(pointer + 16), 'Interior', /interior/);
  throwsArenaError(() => arena.free(pointer + 5 * CHUNK_BYTES), 'Interior', /interior/);
  throwsArenaError(() => arena.free(pointer + 8), 'Unaligned', /unaligned/);
  throwsArenaError(() => arena.alloc(60_000_000), 'OutOfMemory', /out of memory/);
  assert.ok(holds(pointer, 100));
  arena.free(pointer);
  throwsArenaError(() => arena.free(pointer), 'NotAllocated', /not allocated: freed already/);
  const size = arena.memory.buffer.byteLength;
  const halves = [arena.alloc(10_000_000), arena.alloc(10_000_000)];
  assert.equal(arena.memory.buffer.byteLength, size, 'the run was divided');
  halves.forEach((half) => arena.free(half));
  const small = Array.from({ length: 30 }, () => arena.alloc(1 << 19));
  assert.ok(arena.memory.buffer.byteLength <= size + 11 * CHUNK_BYTES, 'and became blocks');
  small.forEach((object) => arena.free(object));
});

test('owns and usableSize answer for any pointer (15)', async () => {
  const other = await Arena.create();
  const foreign = other.alloc(64);
  const pointer = arena.alloc(1000);
  const end = arena.memory.buffer.byteLength;
  for (const [address, owned] of [
    [pointer, true],
    [pointer + 1, true],
    [pointer + 16, true],
    [arena.handle().address, true],
    [foreign, false],
    [0, false],
    [8, false],
    [end + 16, false],
    [0xffff_fff0, false],
  ]) {
    assert.equal(arena.owns(address), owned, `0x${address.toString(16)}`);
  }
  throwsArenaError(() => arena.owns(1.5), 'InvalidPointer', /^owns: the pointer is 1.5/);
  assert.equal(arena.usableSize(pointer), 1024);
  for (const [wrong, code] of [
    [pointer + 16, 'Interior'],
    [pointer + 1, 'Unaligned'],
    [end + 16, 'Foreign'],
    [0, 'Foreign'],
  ]) {
    throwsArenaError(() => arena.usableSize(wrong), code, /^usableSize\(0x/, { pointer: wrong });
  }
  arena.free(pointer);
  throwsArenaError(() => arena.usableSize(pointer), 'DoubleFree', /already/, { pointer });
  other.free(foreign);
  other.detach();
});

test('free knows the size by itself: a second argument changes nothing (16)', () => {
  const [pointer, neighbour] = arena.allocBulk(64, 2);
  write(neighbour, 64);
  arena.free(pointer, 387_646);
  assert.ok(holds(neighbour, 64));
  assert.equal(arena.usableSize(neighbour), 64);
  arena.free(neighbour);
  assert.equal(arena.verify().allocatedObjects, 0);
});
