/** Handles: plain data, and everything wrong with one is found before its memory is touched. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Arena } from 'warena';
import { runJob, runJobs } from './agents.mjs';
import { rejectsArenaError, throwsArenaError } from './errors.mjs';

const arena = await Arena.create({ maximumBytes: 16 << 20 });
const handle = arena.handle();

/** A copy of the handle as another agent gets it, by way of a message port in this realm. */
function clone(value) {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve, reject) => {
    port2.on('message', (message) => (port1.close(), resolve(message)));
    port2.on('messageerror', reject);
    port1.postMessage(value);
  });
}

test('a handle is plain data', () => {
  assert.equal(Object.getPrototypeOf(handle), Object.prototype);
  assert.deepEqual(Object.keys(handle).sort(), [
    'address',
    'build',
    'kind',
    'maximumBytes',
    'memory',
    'module',
    'version',
  ]);
  assert.equal(handle.maximumBytes, 16 << 20);
  assert.equal(handle.memory, arena.memory);
});

test('a clone attaches in its own realm, as often as one likes (42, 44)', async () => {
  const seats = [];
  for (let time = 0; time < 3; time += 1) {
    seats.push(await Arena.attach(await clone(await clone(handle))));
  }
  assert.equal(new Set(seats.map(({ slot }) => slot)).size, 3);
  seats.forEach((seat) => seat.detach());
});

test('a handle without the module attaches too (44)', async () => {
  const { module: _, ...light } = handle;
  const { codes } = await runJob('freeAll', light, { pointers: [arena.alloc(10)] });
  assert.deepEqual(codes, ['freed']);
});

test('many agents attach at once while this one allocates (42)', async () => {
  const stamps = Array.from({ length: 50 }, (_, index) => {
    const pointer = arena.alloc(200);
    arena.u8(pointer, 200).fill(index);
    return pointer;
  });
  const lives = await runJobs(8, 'shortLife', handle);
  assert.ok(
    lives.every(({ slot }) => slot > 0),
    JSON.stringify(lives),
  );
  stamps.forEach((pointer, index) => {
    assert.ok(arena.u8(pointer, 200).every((byte) => byte === index));
    arena.free(pointer);
  });
  assert.equal(arena.verify().allocatedObjects, 0);
});

test('concurrent creates in a realm share one memory (42)', async () => {
  const arenas = await Promise.all([Arena.create(), Arena.create(), Arena.create()]);
  assert.ok(arenas.every(({ memory }) => memory === arena.memory));
  assert.equal(new Set(arenas.map((each) => each.handle().address)).size, 3);
  arenas.forEach((each) => each.detach());
});

test('what is no handle is refused (44)', async () => {
  for (const wrong of [undefined, null, 5, 'handle']) {
    await rejectsArenaError(
      Arena.attach(wrong),
      'InvalidHandle',
      /^Arena.attach: the handle is .*; post what arena.handle\(\) returns/,
    );
  }
  await rejectsArenaError(Arena.attach(arena), 'InvalidHandle', /no handle/);
  await rejectsArenaError(
    Arena.attach(structuredClone(arena)),
    'InvalidHandle',
    /an Arena that was posted itself arrives as an empty object/,
  );
  for (const [change, pattern] of [
    [{ memory: undefined }, /its memory is undefined/],
    [{ memory: {} }, /its memory is object, not a WebAssembly.Memory/],
    [{ memory: new WebAssembly.Memory({ initial: 32 }) }, /its memory is not shared/],
    [{ maximumBytes: 65_536 }, /its maximumBytes is 0x10000, less than the memory has/],
    [{ module: {} }, /its module is object, not a WebAssembly.Module/],
    [{ address: -1 }, /its address is -1/],
    [{ address: 1.5 }, /its address is 1.5/],
    [{ address: '16' }, /its address is "16"/],
    [{ address: 0 }, /no arena at 0x0 of its memory/],
    [{ address: 7 }, /no arena at 0x7/],
    [{ address: handle.address + 16 }, /no arena at/],
    [{ address: 0xffff_fff0 }, /no arena at 0xfffffff0/],
  ]) {
    await rejectsArenaError(Arena.attach({ ...handle, ...change }), 'InvalidHandle', pattern);
  }
});

test('another version or build is refused, naming both (43)', async () => {
  await rejectsArenaError(
    Arena.attach({ ...handle, version: '9.9.9' }),
    'VersionMismatch',
    /handle is of warena 9\.9\.9 .* this is 0\.\d+\.\d+/,
  );
  await rejectsArenaError(
    Arena.attach({ ...handle, build: 'other' }),
    'VersionMismatch',
    /build other\).* same version of the package/,
  );
});

test('a memory without an arena is refused and stays as it is (43)', async () => {
  const memory = new WebAssembly.Memory({ initial: 48, maximum: 256, shared: true });
  await rejectsArenaError(
    Arena.attach({ ...handle, memory }),
    'InvalidHandle',
    /no arena at 0x[0-9a-f]+ of its memory/,
    {
      pointer: handle.address,
    },
  );
  assert.ok(new Uint8Array(memory.buffer).every((byte) => byte === 0));
});

test('a half-written header, a destroyed arena and an old layout are refused (43)', async () => {
  const memory = new WebAssembly.Memory({ initial: 48, maximum: 256, shared: true });
  const theirs = new Uint32Array(memory.buffer, handle.address, 4);
  const [magic, version] = new Uint32Array(arena.memory.buffer, handle.address, 2);
  const hex = magic.toString(16);
  for (const [words, pattern] of [
    [[magic, version, 0], /half-written \(it says that it is at 0x0, of layout version \d\)/],
    [[magic, 0, handle.address], /half-written .* of layout version 0\)/],
    [
      [0, version, handle.address],
      new RegExp(`none any more: its header says 0x0 where one says 0x${hex}`),
    ],
  ]) {
    theirs.set(words);
    await rejectsArenaError(Arena.attach({ ...handle, memory }), 'InvalidHandle', pattern);
    assert.ok(new Uint8Array(memory.buffer, 0, 1024).every((byte) => byte === 0));
  }
  theirs.set([magic, version + 6, handle.address]);
  await rejectsArenaError(
    Arena.attach({ ...handle, memory }),
    'VersionMismatch',
    new RegExp(`layout version ${version + 6} and this is version ${version};`),
    { pointer: handle.address },
  );
});

test('another memory than this realm’s is refused', async () => {
  const memory = new WebAssembly.Memory({ initial: 48, maximum: 256, shared: true });
  new Uint8Array(memory.buffer).set(
    new Uint8Array(arena.memory.buffer).subarray(0, memory.buffer.byteLength),
  );
  await rejectsArenaError(
    Arena.attach({ ...handle, memory }),
    'OtherMemory',
    /another memory \(warena:[0-9a-f]{16}\) than the one that this realm has \(warena:[0-9a-f]{16}\)/,
  );
});

test('a handle outlives the seat that it was made in (44)', async () => {
  const other = await Arena.create();
  const kept = await clone(other.handle());
  other.detach();
  throwsArenaError(() => other.handle(), 'Detached', /^handle\(\): this arena was detached/);
  const again = await Arena.attach(kept);
  again.free(again.alloc(10));
  again.detach();
});

test('an arena cannot be posted itself: its clone has nothing (44)', () => {
  assert.deepEqual(structuredClone(arena), {});
});
