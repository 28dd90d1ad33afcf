/** C's names: another module on the memory imports them, in any thread, and its objects are the arena's. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Arena } from 'warena';
import { runJobs } from './agents.mjs';

const { importer } = await import(
  pathToFileURL(`${process.env.WARENA_ROOT}/benches/host/importer.mjs`).href
);
const arena = await Arena.create({ maximumBytes: 64 << 20 });
const names = arena.cNames();

after(() => assert.equal(arena.verify().allocatedObjects, 0));

test('a module that imports them allocates from the arena', () => {
  const array = arena.alloc(4 * 300);
  const cycles = importer(arena.memory, names);
  for (const size of [1, 64, 5000, 70_000]) {
    assert.equal(cycles(20, 300, size, array), 0, `${size} bytes`);
  }
  arena.free(array);
  assert.ok(arena.stats().cacheHits > 10_000, 'by way of the cache of this seat');
  assert.equal(arena.verify().allocatedObjects, 0);
});

test('modules in several threads share it', async () => {
  assert.deepEqual(await runJobs(4, 'importCNames', arena.handle()), [0, 0, 0, 0]);
  assert.equal(arena.verify().allocatedObjects, 0);
});

test('an object is freed by whichever name', () => {
  const pointer = names.malloc(100);
  assert.equal(pointer % 128, 0);
  assert.equal(names.malloc_usable_size(pointer), 128);
  arena.free(pointer);
  names.free(arena.alloc(100));
});

test('they do what C says', () => {
  const [empty, another] = [names.malloc(0), names.malloc(0)];
  assert.ok(empty !== 0 && another !== 0 && empty !== another);
  names.free(empty);
  names.free(another);
  const zeroed = names.calloc(3, 1000);
  assert.ok(arena.u8(zeroed, 3000).every((byte) => byte === 0));
  arena.u8(zeroed, 3000).fill(7);
  const grown = names.realloc(zeroed, 9000);
  assert.ok(arena.u8(grown, 3000).every((byte) => byte === 7));
  names.free(names.realloc(grown, 0));
  const aligned = names.aligned_alloc(4096, 10);
  assert.equal(aligned % 4096, 0);
  names.free(aligned);
  names.free(names.realloc(0, 10));
  names.free(0);
  assert.equal(names.malloc_usable_size(0), 0);
});

test('without memory, or for what cannot be, the answer is null', () => {
  assert.equal(names.malloc(0xffff_0000), 0);
  assert.equal(names.calloc(0x10000, 0x10000), 0);
  assert.equal(names.calloc(0x10001, 0xffff_ffff), 0);
  assert.equal(names.aligned_alloc(24, 10), 0);
  const pointer = names.malloc(10);
  assert.equal(names.realloc(pointer, 0xffff_0000), 0, 'and the object stays');
  names.free(pointer);
});

test('a pointer that is no object is thrown', () => {
  const pointer = names.malloc(100);
  const refusals = [
    [() => names.free(pointer + 16), /^free\(0x[0-9a-f]+\): .*interior/],
    [() => names.free(pointer + 1), /^free\(0x[0-9a-f]+\): .*unaligned/],
    [() => names.realloc(64, 10), /^realloc\(0x40\): /],
    [() => names.malloc_usable_size(pointer + 16), /^malloc_usable_size\(0x[0-9a-f]+\): .*interior/],
  ];
  for (const [refused, message] of refusals) {
    assert.throws(refused, ({ message: said }) => message.test(said) || assert.fail(said));
  }
  names.free(pointer);
  assert.throws(() => names.free(pointer), /already/);
});

test('they serve from the arena that was asked last, and from none once it is detached', async () => {
  const other = await Arena.create();
  assert.equal(typeof other.cNames().malloc, 'function');
  const pointer = names.malloc(50);
  assert.ok(other.owns(pointer) && !arena.owns(pointer));
  names.free(pointer);
  other.detach();
  assert.equal(names.malloc(50), 0);
  assert.throws(() => names.free(64), /no arena serves this agent/);
  arena.cNames();
  names.free(names.malloc(50));
});
