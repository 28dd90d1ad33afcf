/** The package's everyday calls, in one realm. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { after, test } from 'node:test';
import * as warena from 'warena';
import { throwsArenaError } from './errors.mjs';

const { Arena, BlockState, CHUNK_BYTES, UNITS_PER_CHUNK, UNIT_BYTES, blockOrder, blockState, blockUnits } =
  warena;
const arena = await Arena.create({ maximumBytes: 64 << 20 });

after(() => {
  const { allocatedObjects } = arena.verify();
  assert.equal(allocatedObjects, 0);
});

test('the package exports what it documents and nothing else', () => {
  assert.deepEqual(Object.keys(warena).sort(), [
    'Arena',
    'ArenaError',
    'BlockState',
    'CHUNK_BYTES',
    'UNITS_PER_CHUNK',
    'UNIT_BYTES',
    'blockOrder',
    'blockState',
    'blockUnits',
  ]);
  assert.deepEqual([UNIT_BYTES, CHUNK_BYTES, UNITS_PER_CHUNK], [16, 1_048_576, 65_536]);
  assert.deepEqual(BlockState, {
    Interior: 0,
    Free: 1,
    Allocated: 2,
    Cached: 3,
    Transfer: 4,
    Deferred: 5,
    Metadata: 6,
    Zeroed: 7,
  });
  assert.equal(blockState((3 << 5) | 7), BlockState.Cached);
  assert.deepEqual([blockOrder((3 << 5) | 7), blockUnits((3 << 5) | 7)], [7, 128]);
  // Five eighths of 8 KiB, six of 512 KiB.
  assert.deepEqual([blockOrder((2 << 5) | 16), blockUnits((2 << 5) | 16)], [9, 320]);
  assert.deepEqual([blockOrder((2 << 5) | 29), blockUnits((2 << 5) | 29)], [15, 24_576]);
});

test('an object is aligned, writable, and its bytes stay', () => {
  for (const bytes of [1, 15, 16, 17, 100, 2048, 2049, 65_536, 524_288]) {
    const pointer = arena.alloc(bytes);
    assert.ok(Number.isInteger(pointer) && pointer > 0);
    assert.equal(
      pointer % Math.max(16, 2 ** Math.ceil(Math.log2(bytes))),
      0,
      `alignment of ${bytes}`,
    );
    arena.u8(pointer, bytes).fill(0xa5);
    assert.ok(arena.u8(pointer, bytes).every((byte) => byte === 0xa5));
    arena.free(pointer);
  }
});

test('a freed object is the next one allocated: the cache is a stack', () => {
  const first = arena.alloc(64);
  arena.free(first);
  const second = arena.alloc(64);
  assert.equal(second, first);
  arena.free(second);
});

test('stats add up, and have the fields that their type has', () => {
  const pointers = Array.from({ length: 500 }, (_, index) => arena.alloc(1 + index * 7));
  const stats = arena.stats();
  const { freeBytes, allocatedBytes, cachedBytes, inTransferBytes, deferredBytes, metadataBytes } =
    stats;
  assert.equal(
    freeBytes + allocatedBytes + cachedBytes + inTransferBytes + deferredBytes + metadataBytes,
    stats.ownedBytes,
  );
  assert.equal(stats.ownedBytes, (stats.chunks + stats.hugeChunks) * CHUNK_BYTES);
  assert.equal(stats.workers, 1);
  const verification = arena.verify();
  assert.equal(verification.allocatedObjects, 500);
  assert.equal(verification.allocatedBytes, allocatedBytes);
  assert.deepEqual(Object.keys(stats).sort(), fieldsOf('Stats'));
  assert.deepEqual(Object.keys(verification).sort(), fieldsOf('Verification'));
  assert.deepEqual(Object.keys(stats.orders[0]).sort(), fieldsOf('OrderStats'));
  const inOrders = stats.orders.reduce(
    (sum, { blockBytes, allocatedObjects }) => sum + blockBytes * allocatedObjects,
    0,
  );
  assert.equal(inOrders, allocatedBytes);
  assert.deepEqual([stats.orders.length, stats.orders[3].blockBytes], [16, 128]);
  assert.ok(stats.peakOwnedBytes >= stats.ownedBytes && stats.peakOutBytes >= allocatedBytes);
  pointers.forEach((pointer) => arena.free(pointer));
});

/** The fields of an interface in the package's own stats.d.ts. */
function fieldsOf(name) {
  const types = readFileSync(
    fileURLToPath(new URL('stats.d.ts', import.meta.resolve('warena'))),
    'utf8',
  );
  const body = types.split(`interface ${name} {`)[1].split('\n}')[0];
  return [...body.matchAll(/^ {4}(\w+): .*;$/gm)].map(([, field]) => field).sort();
}

test('two arenas of one realm on one memory have a seat each', async () => {
  const other = await Arena.attach(arena.handle());
  assert.notEqual(other.slot, arena.slot);
  assert.equal(other.memory, arena.memory);
  const pointer = other.alloc(64);
  arena.free(pointer);
  const next = other.alloc(64);
  assert.notEqual(next, pointer, 'each seat has a cache of its own');
  other.free(next);
  const { slot } = other;
  throwsArenaError(
    () => other.free(pointer),
    'DoubleFree',
    /^free\(0x[0-9a-f]+\): double free: .*cache/,
    { pointer },
  );
  other.detach();
  assert.equal(arena.snapshot().workers[slot].attached, false);
  for (const [name, call] of Object.entries({
    alloc: () => other.alloc(1),
    allocZeroed: () => other.allocZeroed(1),
    allocAligned: () => other.allocAligned(1, 16),
    allocNowait: () => other.allocNowait(1),
    allocNogrow: () => other.allocNogrow(1),
    allocBulk: () => other.allocBulk(1, 2),
    realloc: () => other.realloc(pointer, 1),
    free: () => other.free(pointer),
    freeNowait: () => other.freeNowait(pointer),
    freeBulk: () => other.freeBulk([pointer]),
    reserve: () => other.reserve(1, 1),
    flush: () => other.flush(),
    grow: () => other.grow(1),
    owns: () => other.owns(pointer),
    usableSize: () => other.usableSize(pointer),
    u8: () => other.u8(pointer, 1),
    stats: () => other.stats(),
    snapshot: () => other.snapshot(),
    verify: () => other.verify(),
    handle: () => other.handle(),
    detach: () => other.detach(),
  })) {
    throwsArenaError(call, 'Detached', new RegExp(`^${name}.*was detached; attach again`));
  }
  const again = await Arena.attach(arena.handle());
  assert.equal(again.slot, slot, 'the seat is used again');
  again.detach();
});

test('two arenas in one memory do not take each other’s objects (15)', async () => {
  const other = await Arena.create();
  const pointer = other.alloc(64);
  throwsArenaError(() => arena.free(pointer), 'Foreign', /foreign pointer: not in any chunk/, {
    pointer,
  });
  other.free(pointer);
  assert.equal(other.verify().allocatedObjects, 0);
  other.detach();
});

test('u8 refuses what is beyond the memory', () => {
  const end = arena.memory.buffer.byteLength;
  assert.equal(arena.u8(end - 4, 4).length, 4);
  throwsArenaError(
    () => arena.u8(end - 4, 5),
    'OutOfBounds',
    /the memory has only 0x[0-9a-f]+ bytes/,
    {
      pointer: end - 4,
      bytes: 5,
    },
  );
  throwsArenaError(() => arena.u8(16, -1), 'InvalidSize', /u8: the size is -1/);
  throwsArenaError(() => arena.u8('16', 1), 'InvalidPointer', /u8: the pointer is "16"/);
});

test('a second create in a realm shares its memory; another maximum is refused', async () => {
  const same = await Arena.create({ maximumBytes: 64 << 20 });
  assert.equal(same.memory, arena.memory);
  same.detach();
  await assert.rejects(Arena.create({ maximumBytes: 32 << 20 }), {
    code: 'OtherMemory',
    bytes: 32 << 20,
  });
});
