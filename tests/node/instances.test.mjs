/**
 * Instances on one memory: static memory is made once, each has a stack of its own, and those that come
 * and go leave nothing.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Arena } from 'warena';
import { FACTS } from './node_modules/warena/dist/generated/facts.js';
import { Agent, runJob, runJobs } from './agents.mjs';

const arena = await Arena.create({ maximumBytes: 256 << 20 });
const handle = arena.handle();

/** Bytes of an agent's stack. */
const STACK = 128 << 10;
/** Pages of the stacks of as many agents as ever live at once: more of them may than before. */
const AT_ONCE = 16;
/** How many short lives there are in all, and how many of them are threads of their own. */
const LIVES = Number(process.env.WARENA_LIVES ?? 600);
const THREADS = Math.min(LIVES, Number(process.env.WARENA_THREADS ?? 60));

/** The agents that the memory's table has: number, stack, thread-local data. */
function table() {
  const { records, recordBytes, recordAgent, recordStack, recordThreadLocalData, maxAgents } =
    FACTS.agents;
  const words = new Uint32Array(arena.memory.buffer);
  return Array.from({ length: maxAgents }, (_, index) => {
    const word = (offset) => words[(records + index * recordBytes + offset) / 4];
    return { agent: word(recordAgent), stack: word(recordStack), data: word(recordThreadLocalData) };
  }).filter(({ agent }) => agent !== 0);
}

test('eight agents that start at once have stacks and thread-local data apart (42)', async () => {
  const stamps = Array.from({ length: 50 }, (_, index) => {
    const pointer = arena.alloc(200);
    arena.u8(pointer, 200).fill(index);
    return pointer;
  });
  const agents = Array.from({ length: 8 }, () => new Agent('idle', handle, { objects: 1, bytes: 8 }));
  await Promise.all(agents.map((agent) => agent.message()));
  const all = table();
  assert.equal(all.length, 9);
  assert.equal(new Set(all.map(({ agent }) => agent)).size, 9, 'every agent has its number');
  const ranges = all
    .flatMap(({ stack, data }) => [
      [stack, stack + STACK],
      [data, data + 64],
    ])
    .filter(([start]) => start !== 0)
    .sort(([one], [other]) => one - other);
  assert.equal(ranges.length, 16, 'the first agent has its stack in static memory');
  ranges.reduce((end, [start, next]) => {
    assert.ok(end <= start, `0x${end.toString(16)} > 0x${start.toString(16)}`);
    return next;
  }, 0);
  stamps.forEach((pointer, index) => {
    assert.ok(arena.u8(pointer, 200).every((byte) => byte === index), 'static memory was made once');
    arena.free(pointer);
  });
  await Promise.all(agents.map((agent) => agent.kill()));
  await settled();
  for (const { pointer } of [...arena.objects()]) {
    arena.free(pointer);
  }
});

test(`${LIVES} short lives leave no growth (27)`, async () => {
  const round = async (threads) => {
    const times = Math.ceil(LIVES / THREADS);
    for (let left = threads; left > 0; left -= 4) {
      await runJobs(Math.min(left, 4), 'reattach', handle, { times });
    }
  };
  await round(8);
  await settled();
  const before = arena.memory.grow(0);
  const { chunks } = arena.stats();
  await round(THREADS);
  await settled();
  const pages = arena.memory.grow(0) - before;
  assert.ok(pages <= AT_ONCE, `${pages} pages more`);
  assert.equal(arena.stats().chunks, chunks);
  assert.ok(arena.snapshot().workers.length <= 9, 'seats are used again');
  assert.equal(arena.verify().allocatedObjects, 0);
});

test(`and so do ${THREADS} that are killed (27)`, async () => {
  const round = async (kills) => {
    for (let left = kills; left > 0; left -= 4) {
      const agents = Array.from({ length: Math.min(left, 4) }, () => new Agent('idle', handle, { objects: 0 }));
      await Promise.all(agents.map((agent) => agent.message()));
      await Promise.all(agents.map((agent) => agent.kill()));
    }
    await settled();
  };
  await round(8);
  const before = arena.memory.grow(0);
  await round(THREADS);
  const pages = arena.memory.grow(0) - before;
  assert.ok(pages <= AT_ONCE, `${pages} pages more`);
  assert.equal(arena.verify().allocatedObjects, 0);
});

test('an arena above 2 GiB, and agents that die there (18)', async () => {
  const { output } = await runJob('highArena', undefined);
  assert.deepEqual(output, { isHigh: true, found: 3, slots: 1, isUnsigned: true, allocatedObjects: 0 });
});

/** Resolves when this agent is the only one in the table: what was killed has been reaped. */
async function settled() {
  for (const end = Date.now() + 10_000; table().length > 1;) {
    assert.ok(Date.now() < end, JSON.stringify(table()));
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
