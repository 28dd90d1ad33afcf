/**
 * Agents that end without detaching, wherever they are at that moment: what they left is taken in, the
 * others go on, and what their programs had allocated can be found.
 */
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { Arena } from 'warena';
import { Agent, runJob } from './agents.mjs';
import { rejectsArenaError } from './errors.mjs';

const arena = await Arena.create({ maximumBytes: 256 << 20 });
const handle = arena.handle();
const reports = [];
arena.on('reap', (report) => reports.push(report));
beforeEach(() => (reports.length = 0));
after(() => assert.equal(arena.verify().allocatedObjects, 0));

/** Resolves when the agent in a seat has been reaped. */
async function reaped(count = 1) {
  const end = Date.now() + 10_000;
  while (reports.length < count) {
    assert.ok(Date.now() < end, `${reports.length} of ${count} agents were reaped`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function freeAll() {
  for (const { pointer } of arena.objects()) {
    arena.free(pointer);
  }
}

test('an agent that is killed while it is idle leaves nothing but what it had allocated', async () => {
  const agent = new Agent('idle', handle, { objects: 40, bytes: 100 });
  const { slot, pointers } = await agent.message();
  assert.equal(arena.stats().workers, 2);
  await agent.kill();
  await reaped();
  assert.equal(reports[0].slots, 1);
  assert.equal(reports[0].recoveredHeap, false);
  assert.deepEqual([arena.stats().workers, arena.verify().allocatedObjects], [1, 40]);
  const found = [...arena.objects()];
  assert.deepEqual(
    found.map(({ pointer }) => pointer),
    [...pointers].sort((one, other) => one - other),
  );
  assert.ok(found.every(({ bytes }) => bytes === 128));
  freeAll();
  assert.equal((await runJob('shortLife', handle)).slot, slot, 'the seat serves the next');
});

test('one that ends by itself, by process.exit and by an error is reaped too', async () => {
  for (const how of ['return', 'exit', 'throw']) {
    reports.length = 0;
    const agent = new Agent('leave', handle, { how });
    await agent.ended;
    await reaped();
    assert.equal(arena.stats().workers, 1, how);
  }
});

test('agents killed while they work leave a heap that is whole (34)', async () => {
  const survivor = new Agent('mixedLoad', handle, { seed: 1, milliseconds: 3000 });
  const kills = Number(process.env.WARENA_KILLS ?? 25);
  for (let kill = 0; kill < kills; kill += 1) {
    const agent = new Agent('mixedLoad', handle, { seed: kill + 2, milliseconds: 60_000 });
    await agent.message();
    await new Promise((resolve) => setTimeout(resolve, (kill * 7) % 20));
    await agent.kill();
    await reaped(kill + 1);
  }
  assert.deepEqual(await survivor.result(), { violations: 0 });
  assert.equal(arena.stats().workers, 1);
  arena.flush();
  arena.verify();
  freeAll();
});

test('agents killed while they start keep nobody from starting (34)', async () => {
  const kills = Number(process.env.WARENA_KILLS ?? 25);
  for (let kill = 0; kill < kills; kill += 1) {
    const agents = [0, 1].map(() => new Agent('reattach', handle, { times: 100_000 }));
    await Promise.all(agents.map((agent) => agent.online));
    await new Promise((resolve) => setTimeout(resolve, 30 + (kill * 3) % 30));
    await Promise.all(agents.map((agent) => agent.kill()));
  }
  assert.ok((await runJob('shortLife', handle)).slot > 0);
  // An agent that is killed between two seats has nothing to report.
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(arena.stats().workers, 1);
  freeAll();
});

test('reap: a living agent is refused, an empty seat has nothing, twice is once', async () => {
  const agent = new Agent('idle', handle, { objects: 0, bytes: 1 });
  const { slot } = await agent.message();
  await rejectsArenaError(arena.reap(slot), 'Live', new RegExp(`^reap\\(${slot}\\): agent \\d+ sits`));
  await rejectsArenaError(arena.reap(arena.slot), 'Live', /this agent's own seat/);
  await rejectsArenaError(arena.reap(8000), 'NoSlot', /no such seat/);
  await rejectsArenaError(arena.reap(-1), 'NoSlot', /no such seat/);
  await agent.kill();
  const [first, second] = await Promise.all([arena.reap(slot), arena.reap(slot)]);
  assert.equal((await arena.reap(slot)).slots, 0);
  assert.ok(first.slots <= 1 && second.slots <= 1);
  assert.equal(reports.length, 1);
});

test('a worker of a worker dies with it', async () => {
  const parent = new Agent('parent', handle, {});
  await parent.message();
  assert.equal(arena.stats().workers, 3);
  await parent.kill();
  await reaped(2);
  assert.equal(arena.stats().workers, 1);
});

test('what was there before this agent attached can be watched', async () => {
  const { output } = await runJob('lateWatcher', undefined, {});
  assert.deepEqual(output, { before: 'Live', after: 1, ended: 'Ended' });
});
