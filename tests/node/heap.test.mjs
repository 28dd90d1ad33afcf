/** The module's own heap: an arena too, that lives through the starts, ends and deaths of agents. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Arena } from 'warena';
import { Agent, runJob, runJobs } from './agents.mjs';

const arena = await Arena.create({ maximumBytes: 128 << 20 });
const handle = arena.handle();
// Not a part of the package's surface: the module's own exports, in this realm's instance.
const [glue, { readFigures }, { FACTS }] = await Promise.all(
  ['glue/warena_wasm.js', 'answer.js', 'generated/facts.js'].map(
    (name) => import(new URL(name, import.meta.resolve('warena')).href),
  ),
);

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Figures of the arena that serves everybody, after the proof of all that there are. */
function proven() {
  for (let number = 0, header; (header = glue.heap_header(number)) !== 0; number += 1) {
    assert.ok(glue.verify(header, false));
  }
  assert.ok(glue.stats(glue.heap_header(0)));
  return readFigures(arena.memory, FACTS.stats);
}

after(() => {
  proven();
  assert.equal(arena.verify().allocatedObjects, 0);
});

test('there is one, beside the arenas of programs', () => {
  assert.notEqual(glue.heap_header(0), arena.handle().address);
  assert.equal(glue.heap_header(99), 0);
  assert.equal(arena.owns(glue.heap_header(0)), false);
  assert.ok(proven().allocatedBytes > 0);
});

test('agents that come and go leave nothing of ours in it (27)', async () => {
  await runJobs(4, 'shortLife', handle);
  const before = proven();
  const rounds = 5;
  const times = 50;
  for (let round = 0; round < rounds; round += 1) {
    await runJobs(4, 'shortLife', handle);
    await runJob('reattach', handle, { times });
  }
  const { allocatedBytes, workers, ownedBytes } = proven();
  assert.deepEqual([workers, ownedBytes], [before.workers, before.ownedBytes]);
  assert.equal(allocatedBytes, before.allocatedBytes);
});

test('one that is killed while the module allocates keeps nobody from going on (34)', async () => {
  await runJobs(4, 'shortLife', handle);
  const before = proven();
  const survivor = new Agent('busyHeap', handle);
  await survivor.message();
  let reaped = 0;
  const end = arena.on('reap', () => (reaped += 1));
  const kills = Number(process.env.WARENA_KILLS ?? 40);
  for (let kill = 1; kill <= kills; kill += 1) {
    const agent = new Agent('busyHeap', handle);
    await agent.message();
    await pause((kill * 7) % 20);
    await agent.kill();
    for (const late = Date.now() + 10_000; reaped < kill;) {
      assert.ok(Date.now() < late, `${reaped} of ${kill} were reaped`);
      assert.ok(arena.stats().ownedBytes > 0, 'this agent goes on meanwhile');
      await pause(1);
    }
  }
  await survivor.kill();
  while (reaped <= kills) {
    await pause(1);
  }
  end();
  await runJobs(4, 'shortLife', handle);
  // This agent may have come to need a seat itself.
  assert.ok(proven().workers - before.workers <= 1);
});
