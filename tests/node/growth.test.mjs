/** Growth that others do at the same moment: agents on one arena, on two, and by hand. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Arena, CHUNK_BYTES } from 'warena';
import { runJob, runJobs } from './agents.mjs';

const MAXIMUM = 256 << 20;
const PAGE = 65_536;

const arena = await Arena.create({ maximumBytes: MAXIMUM });
const handle = arena.handle();

after(() => assert.equal(arena.verify().allocatedObjects, 0));

test('eight agents grow one memory at once, and every stamp holds (21)', async () => {
  const start = arena.alloc(16);
  arena.u8(start, 16).fill(0);
  const results = await runJobs(8, 'growTogether', handle, { start, times: 200, most: 1 << 16 });
  arena.free(start);
  assert.deepEqual(
    results.map(({ violations }) => violations),
    Array(8).fill(0),
  );
  const bytes = results.reduce((sum, { bytes: own }) => sum + own, 0);
  assert.ok(
    arena.stats().peakOwnedBytes <= 2 * bytes + 16 * CHUNK_BYTES,
    `${arena.stats().peakOwnedBytes} bytes for ${bytes}`,
  );
});

test('others grow the same memory by hand, and no page is lost or shared (21)', async () => {
  const grower = runJob('growByHand', handle, { times: 60, pages: 3 });
  const pointers = [];
  for (let index = 0; index < 60; index += 1) {
    const pointer = arena.alloc(index % 3 === 0 ? 3 * CHUNK_BYTES : 1 << 19);
    arena.u8(pointer, 1 << 19).fill(0xa5);
    pointers.push(pointer);
    await new Promise(setImmediate);
  }
  const { ranges, intact } = await grower;
  assert.ok(intact, 'nobody wrote into the pages that were grown by hand');
  for (const pointer of pointers) {
    assert.ok(arena.u8(pointer, 1 << 19).every((byte) => byte === 0xa5));
    assert.ok(ranges.every(([first, end]) => pointer + (1 << 19) <= first || pointer >= end));
    arena.free(pointer);
  }
  arena.verify();
});

test('what is left below the maximum is had by smaller steps, and then no more', async () => {
  const held = [];
  const left = () => MAXIMUM - arena.memory.grow(0) * PAGE;
  while (left() >= 8 * CHUNK_BYTES) {
    held.push(arena.alloc(4 * CHUNK_BYTES));
  }
  // More than there is: refused, and nothing was grown for it.
  const before = arena.memory.grow(0);
  for (let time = 0; time < 100; time += 1) {
    assert.throws(() => arena.alloc(MAXIMUM / 2), { code: 'OutOfMemory' });
  }
  assert.equal(arena.memory.grow(0), before);
  // All that is left is had, chunk by chunk.
  for (;;) {
    try {
      held.push(arena.alloc(1 << 19));
    } catch ({ code }) {
      assert.equal(code, 'OutOfMemory');
      break;
    }
  }
  assert.ok(left() < CHUNK_BYTES, `${left()} bytes are left`);
  arena.verify();
  held.forEach((pointer) => arena.free(pointer));
});

test('a view made before growth stays right, and a new one covers what others grew (19)', async () => {
  const own = arena.alloc(64);
  const old = arena.u8(own, 64);
  old.fill(3);
  const { pointers } = await runJob('grow', handle, { bytes: 10 << 20 });
  assert.ok(old.every((byte) => byte === 3));
  const last = Math.max(...pointers);
  assert.ok(arena.u8(last, 1 << 19).every((byte) => byte === 0x5a));
  assert.throws(() => arena.u8(MAXIMUM - 8, 16), { code: 'OutOfBounds' });
  [own, ...pointers].forEach((pointer) => arena.free(pointer));
});
