/** Calls that wait for nobody, and what makes sure beforehand that they need not. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Arena, BlockState, CHUNK_BYTES, blockState } from 'warena';
import { runJob } from './agents.mjs';
import { throwsArenaError } from './errors.mjs';

const arena = await Arena.create({ maximumBytes: 64 << 20, maximumChunks: 40 });

after(() => assert.equal(arena.verify().allocatedObjects, 0));

const times = (count, call) => Array.from({ length: count }, call);

test('what is reserved is there without the heap', () => {
  arena.reserve(100, 16);
  const { heapLocks } = arena.stats();
  const pointers = times(16, () => arena.allocNowait(100));
  assert.equal(new Set(pointers).size, 16);
  assert.equal(arena.stats().heapLocks, heapLocks, 'no lock was taken');
  pointers.forEach((pointer) => arena.freeNowait(pointer));
  arena.reserve(100, 0);
});

test('what cannot be reserved is refused by name', () => {
  for (const [bytes, count] of [
    [100, 513],
    [4096, 1],
  ]) {
    throwsArenaError(
      () => arena.reserve(bytes, count),
      'NotCached',
      new RegExp(`^reserve\\(0x${bytes.toString(16)}, 0x${count.toString(16)}\\): not cached`),
    );
  }
  throwsArenaError(() => arena.reserve(0, 1), 'InvalidSize', /size is 0/);
  throwsArenaError(() => arena.reserve(1 << 20, 1), 'TooLarge', /larger than/);
  throwsArenaError(() => arena.reserve(64, 1.5), 'InvalidSize', /^reserve: the count is 1.5/);
});

test('flush gives the cache back', () => {
  arena.free(arena.alloc(64));
  assert.ok(arena.stats().cachedBytes > 0);
  arena.flush();
  assert.equal(arena.stats().cachedBytes, 0);
});

test('grow adds chunks, up to the arena’s maximum, and allocNogrow only uses them', () => {
  const { chunks } = arena.stats();
  assert.equal(arena.grow(2), 2);
  assert.equal(arena.stats().chunks, chunks + 2);
  const size = arena.memory.buffer.byteLength;
  const pointers = [];
  throwsArenaError(
    () => times(100, () => pointers.push(arena.allocNogrow(1 << 19))),
    'OutOfMemory',
    /^allocNogrow\(0x80000\): out of memory/,
  );
  assert.equal(pointers.length, chunks + 2);
  throwsArenaError(() => arena.allocNowait(1 << 19), 'OutOfMemory', /^allocNowait/);
  throwsArenaError(() => arena.allocNogrow(2 << 20), 'OutOfMemory', /out of memory/);
  assert.equal(arena.memory.buffer.byteLength, size);
  pointers.push(arena.alloc(1 << 19));
  pointers.forEach((pointer) => arena.free(pointer));
  assert.equal(arena.grow(100) + arena.stats().chunks > 40, true);
  assert.equal(arena.stats().chunks, 40, 'maximumChunks');
  assert.equal(arena.grow(1), 0);
  throwsArenaError(() => arena.grow(-1), 'InvalidSize', /^grow: the count is -1/);
});

test('caches serve allocNogrow', () => {
  const pointer = arena.alloc(64);
  arena.free(pointer);
  assert.equal(arena.allocNogrow(64), pointer);
  arena.free(pointer);
});

test('while another agent has the heap locked, frees are deferred and seen as freed', async () => {
  // A block map of 64 KiB in each of their chunks: verify() holds the lock for milliseconds.
  const held = times(32, () => arena.alloc(1 << 19));
  // Had before: an allocation that waits its turn for the lock ends when the lock is free.
  const spare = times(100, () => arena.alloc(1 << 16));
  const word = arena.alloc(16);
  const words = new Int32Array(arena.memory.buffer, word, 1);
  words[0] = 0;
  const job = runJob('verifyUntil', arena.handle(), { word });
  const end = Date.now() + 20_000;
  const seen = { deferred: 0, busy: 0 };
  while ((seen.deferred === 0 || seen.busy === 0) && Date.now() < end) {
    await new Promise(setImmediate);
    const pointer = spare.pop() ?? allocInTheEnd(1 << 16);
    arena.freeNowait(pointer);
    if (isDeferred(pointer)) {
      // Or, by now, freed by the one who had the lock.
      assert.throws(() => arena.freeNowait(pointer), { code: /^(DoubleFree|NotAllocated)$/ });
      seen.deferred += 1;
    }
    try {
      arena.freeNowait(arena.allocNowait(1 << 16));
    } catch (error) {
      assert.equal(error.code, 'Busy');
      seen.busy += 1;
    }
  }
  Atomics.store(words, 0, 1);
  const { verifications } = await job;
  assert.ok(verifications > 0);
  assert.ok(seen.deferred > 0 && seen.busy > 0, JSON.stringify(seen));
  [word, ...spare, ...held].forEach((pointer) => arena.free(pointer));
  const { deferredBytes, deferredFrees } = arena.stats();
  assert.equal(deferredBytes, 0, 'whoever has the lock next frees them');
  assert.ok(deferredFrees >= seen.deferred);
});

/**
 * Allocates, however long the heap is locked: this agent is Node's main thread, whose patience ends
 * after a second, and the other one leaves the lock for no more than a moment.
 */
function allocInTheEnd(bytes) {
  for (;;) {
    try {
      return arena.alloc(bytes);
    } catch (error) {
      assert.equal(error.code, 'Busy');
    }
  }
}

/** Whether a block is on the deferred list, in a snapshot. */
function isDeferred(pointer) {
  const start = pointer - (pointer % CHUNK_BYTES);
  const chunk = arena.snapshot().chunks.find(({ address }) => address === start);
  return blockState(chunk?.map[(pointer - start) / 16] ?? 0) === BlockState.Deferred;
}
