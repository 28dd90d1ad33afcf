/**
 * Workers that a page terminates: their deaths are known by the locks that they held, whoever is left
 * to be told, and what they left is reaped.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { App } from './app.mjs';

/** Kills of workers at work. */
const KILLS = Number(process.env.WARENA_KILLS ?? 30);

/** What the pages and workers of this file share. */
const shared = {
  // A worker that does what it is told, and says what came of it.
  'agent.js': `
    import { Arena } from 'warena';
    let arena, report;
    const told = {
      create: async () => (arena = await Arena.create({ maximumBytes: 64 << 20 })).handle(),
      attach: async (handle) => (arena = await Arena.attach(handle)).slot,
      cache: async () => arena.free(arena.alloc(64)),
      seats: async () => arena.stats().workers,
      verify: async () => arena.verify().allocatedObjects,
      // Answered at once: whoever kills only after the answer knows that this worker listens.
      listen: () => {
        report = new Promise((done) => { const end = arena.on('reap', (heard) => (end(), done(heard))); });
      },
      reaped: () => report,
      // Its event loop does not turn meanwhile.
      block: async (milliseconds) => { const end = Date.now() + milliseconds; while (Date.now() < end); },
      work: async (seed) => {
        const stamp = seed % 255 + 1;
        const held = [];
        for (let turn = seed; ; turn += 1) {
          const bytes = [20, 300, 2000, 70_000][(turn * 7) % 4] + (turn % 16);
          const pointer = arena.alloc(bytes);
          arena.u8(pointer, 16).fill(stamp);
          held.push(pointer);
          if (held.length > 50) {
            const oldest = held.splice(turn % 50, 1)[0];
            if (arena.u8(oldest, 16).some((byte) => byte !== stamp)) throw new Error('stamp');
            arena.free(oldest);
          }
        }
      },
    };
    self.onmessage = async ({ data: { name, argument } }) =>
      self.postMessage(await told[name](argument));
  `,
  'start.js': `
    export const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
    export function start() {
      const worker = new Worker(new URL('./agent.js', import.meta.url), { type: 'module' });
      const answers = [];
      worker.onmessage = ({ data }) => answers.shift()(data);
      worker.onerror = (event) => { throw new Error(event.message); };
      return {
        tell: (name, argument) => new Promise((done) => {
          answers.push(done);
          worker.postMessage({ name, argument });
        }),
        kill: () => worker.terminate(),
      };
    }
  `,
};

async function visit(main) {
  const app = await App.make({ ...shared, 'main.js': main });
  try {
    return JSON.parse(await app.develop());
  } finally {
    await app.close();
  }
}

test('a page sees its workers die, and reaps them in their midst (34)', async () => {
  const { living, slots, objects, milliseconds, kills, seats } = await visit(`
    import { Arena } from 'warena';
    import { pause, start } from './start.js';
    const arena = await Arena.create({ maximumBytes: 128 << 20 });
    const handle = arena.handle();
    let reports = 0;
    arena.on('reap', () => (reports += 1));

    const idle = start();
    const slot = await idle.tell('attach', handle);
    await idle.tell('cache');
    const living = await arena.reap(slot).catch(({ code }) => code);
    const reaped = new Promise((done) => { const end = arena.on('reap', (report) => (end(), done(report))); });
    const before = performance.now();
    idle.kill();
    const { slots, objects } = await reaped;
    const milliseconds = performance.now() - before;

    const witness = start();
    await witness.tell('attach', handle);
    // Chromium gives a worker that is busy two seconds, so several are killed at once.
    let kills = 0;
    while (kills < ${KILLS}) {
      const batch = Array.from({ length: 6 }, start);
      await Promise.all(batch.map((worker) => worker.tell('attach', handle)));
      batch.forEach((worker, seed) => worker.tell('work', seed));
      reports = 0;
      await pause((kills * 13) % 40);
      batch.forEach((worker) => worker.kill());
      while (reports < batch.length) {
        await witness.tell('cache');
        arena.free(arena.alloc(1000));
        await pause(20);
      }
      kills += batch.length;
    }
    arena.verify();
    for (const { pointer } of arena.objects()) arena.free(pointer);
    if (arena.verify().allocatedObjects !== 0) throw new Error('objects() misses some');
    const seats = arena.stats().workers;
    document.title = JSON.stringify({ living, slots, objects, milliseconds, kills, seats });
  `);
  assert.deepEqual({ living, slots, kills, seats }, { living: 'Live', slots: 1, kills: KILLS, seats: 2 });
  assert.ok(objects > 0);
  assert.ok(milliseconds < 5000, `${milliseconds} ms`);
});

test('where only workers are attached, the next one watches when the watcher dies', async () => {
  const { first, second, seats, objects } = await visit(`
    import { start } from './start.js';
    const [one, two, three, four] = [start(), start(), start(), start()];
    const handle = await one.tell('create');
    for (const worker of [two, three, four]) {
      await worker.tell('attach', handle);
    }
    // Nobody but the dead would have been told of it.
    await two.tell('listen');
    one.kill();
    const first = (await two.tell('reaped')).slots;
    await four.tell('listen');
    two.kill();
    const second = (await four.tell('reaped')).slots;
    const seats = await three.tell('seats');
    const objects = await three.tell('verify');
    document.title = JSON.stringify({ first, second, seats, objects });
  `);
  assert.deepEqual([first, second, seats, objects], [1, 1, 2, 0]);
});

test('a watcher whose event loop does not turn is relieved', async () => {
  const { slots, milliseconds } = await visit(`
    import { pause, start } from './start.js';
    const [watcher, other, dying] = [start(), start(), start()];
    const handle = await watcher.tell('create');
    await other.tell('attach', handle);
    await dying.tell('attach', handle);
    await other.tell('listen');
    watcher.tell('block', 20_000);
    await pause(100);
    const before = performance.now();
    dying.kill();
    const { slots } = await other.tell('reaped');
    document.title = JSON.stringify({ slots, milliseconds: performance.now() - before });
  `);
  assert.equal(slots, 1);
  assert.ok(milliseconds < 15_000, `${milliseconds} ms`);
});
