/** Agents on one memory: worker_threads that allocate, free each other's objects, come and go. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Arena } from 'warena';
import { runJob, runJobs } from './agents.mjs';
import { throwsArenaError } from './errors.mjs';

const arena = await Arena.create({ maximumBytes: 256 << 20, maximumWorkers: 6 });
const handle = arena.handle();

after(() => assert.equal(arena.verify().allocatedObjects, 0));

test('four agents malloc and free, and every stamp holds', async () => {
  const results = await runJobs(4, 'mallocFree', handle, { cycles: 200, most: 20_000 });
  assert.ok(results.every(({ objects }) => objects > 1000));
  const { allocatedObjects } = arena.verify();
  assert.equal(allocatedObjects, 0);
});

test('four agents free what the others allocated', async () => {
  const mailbox = arena.alloc(16);
  arena.u8(mailbox, 16).fill(0);
  const results = await runJobs(4, 'mallocXfree', handle, { cycles: 400, mailbox });
  assert.ok(
    results.some(({ foreign }) => foreign > 0),
    'objects went from one agent to another',
  );
  // The last list is still in the mailbox.
  let [pointer] = new Uint32Array(arena.memory.buffer, mailbox, 1);
  while (pointer !== 0) {
    const [next] = new Uint32Array(arena.u8(pointer, 4).buffer, pointer, 1);
    arena.free(pointer);
    pointer = next;
  }
  arena.free(mailbox);
  assert.equal(arena.verify().allocatedObjects, 0);
  assert.equal(arena.stats().workers, 1);
});

test('an agent sees what another grew, and old views stay what they were (19)', async () => {
  const own = arena.alloc(1000);
  const old = arena.u8(own, 1000);
  old.fill(1);
  const { pointers } = await runJob('grow', handle, { bytes: 20 << 20 });
  const last = Math.max(...pointers);
  assert.ok(last + (1 << 19) > old.buffer.byteLength, 'the memory has grown since');
  assert.ok(arena.u8(last, 1 << 19).every((byte) => byte === 0x5a));
  assert.ok(old.every((byte) => byte === 1));
  pointers.forEach((pointer) => arena.free(pointer));
  arena.free(own);
});

test('a hundred short-lived agents leave nothing behind (27)', async () => {
  await runJobs(2, 'shortLife', handle);
  const { workers, chunks } = arena.stats();
  const before = arena.memory.buffer.byteLength;
  const slots = new Set();
  for (let round = 0; round < 50; round += 1) {
    for (const { slot } of await runJobs(2, 'shortLife', handle)) {
      slots.add(slot);
    }
  }
  assert.ok(
    [...slots].every((slot) => slot < 6),
    [...slots].join(),
  );
  arena.memory.grow(0);
  assert.ok(arena.memory.buffer.byteLength - before <= 256 << 10, 'stacks are given back');
  assert.equal(arena.stats().workers, workers);
  assert.ok(arena.stats().chunks <= chunks, 'no chunk more');
  assert.equal(arena.verify().allocatedObjects, 0);
});

test('a realm that attaches again and again takes no more memory', async () => {
  await runJob('reattach', handle, { times: 2 });
  const before = arena.memory.buffer.byteLength;
  const { slots } = await runJob('reattach', handle, { times: 300 });
  assert.equal(slots.length, 1);
  arena.memory.grow(0);
  assert.equal(arena.memory.buffer.byteLength, before);
});

test('more agents than seats is a clear error, and a seat that is left serves the next (27)', async () => {
  const seats = [];
  while (seats.length < 5) {
    seats.push(await Arena.attach(handle));
  }
  await assert.rejects(Arena.attach(handle), {
    code: 'NoSlot',
    message:
      'Arena.attach: every slot is taken; detach a worker or create the arena with more maximumWorkers [NoSlot]',
  });
  assert.equal((await runJob('shortLife', handle)).code, 'NoSlot');
  seats.pop().detach();
  assert.ok((await runJob('shortLife', handle)).slot > 0);
  seats.forEach((seat) => seat.detach());
  throwsArenaError(() => seats[0].alloc(1), 'Detached', /detached/);
});
