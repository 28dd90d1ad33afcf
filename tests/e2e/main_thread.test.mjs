/**
 * A page's main thread on a heap that workers keep locked: it neither waits nor traps nor fails to free,
 * and what it spins is bounded.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { App } from './app.mjs';

/** Milliseconds that the main thread works. */
const MILLISECONDS = Number(process.env.WARENA_MAIN_MILLISECONDS ?? 4000);

const files = {
  'main.js': `
    import { Arena } from 'warena';
    const arena = await Arena.create({ maximumBytes: 256 << 20 });
    const start = (kind) => new Promise((ready) => {
      const worker = new Worker(new URL('./locker.js', import.meta.url), { type: 'module' });
      worker.onmessage = () => ready(worker);
      worker.onerror = (event) => { throw new Error(event.message); };
      worker.postMessage({ handle: arena.handle(), kind });
    });
    // One keeps the heap locked for long, block map after block map; the others contend for one order.
    const held = Array.from({ length: 64 }, () => arena.alloc(1 << 19));
    const workers = await Promise.all(['verify', 'hammer', 'hammer', 'hammer'].map(start));
    const seen = { allocations: 0, busy: 0, violations: 0, longest: 0 };
    const mine = [];
    const end = performance.now() + ${MILLISECONDS};
    for (let turn = 0; performance.now() < end; turn += 1) {
      const before = performance.now();
      try {
        const bytes = turn % 5 === 0 ? 1 << 16 : 4096;
        const pointer = arena.alloc(bytes);
        arena.u8(pointer, 64).fill(0x3c);
        mine.push(pointer);
        seen.allocations += 1;
      } catch (error) {
        if (error.code !== 'Busy') throw error;
        seen.busy += 1;
      }
      if (mine.length > 20) {
        const pointer = mine.shift();
        if (arena.u8(pointer, 64).some((byte) => byte !== 0x3c)) seen.violations += 1;
        arena.free(pointer);
      }
      seen.longest = Math.max(seen.longest, performance.now() - before);
      if (turn % 50 === 0) await new Promise((done) => setTimeout(done, 0));
    }
    await Promise.all(workers.map((worker) => new Promise((done) => {
      worker.onmessage = done;
      worker.postMessage('stop');
    })));
    [...mine, ...held].forEach((pointer) => arena.free(pointer));
    seen.allocatedObjects = arena.verify().allocatedObjects;
    document.title = JSON.stringify(seen);
  `,
  'locker.js': `
    import { Arena } from 'warena';
    let stop = false;
    self.onmessage = async ({ data }) => {
      if (data === 'stop') { stop = true; return; }
      const arena = await Arena.attach(data.handle);
      self.postMessage('ready');
      while (!stop) {
        if (data.kind === 'verify') {
          // In the midst of other calls it may find what it must not find at rest.
          try { arena.verify(); } catch (error) { if (error.code !== 'Corrupt') throw error; }
        } else {
          for (let turn = 0; turn < 200; turn += 1) {
            const pointers = Array.from({ length: 40 }, () => arena.alloc(4096));
            pointers.forEach((pointer) => arena.free(pointer));
          }
        }
        await new Promise((done) => setTimeout(done, 0));
      }
      arena.detach();
      self.postMessage('stopped');
    };
  `,
};

test('the main thread allocates and frees while workers hold the lock (32)', async () => {
  const app = await App.make(files);
  try {
    const seen = JSON.parse(await app.develop());
    assert.equal(seen.violations, 0);
    assert.equal(seen.allocatedObjects, 0);
    assert.ok(seen.allocations > 1000, JSON.stringify(seen));
    assert.ok(seen.longest < 1000, JSON.stringify(seen));

  } finally {
    await app.close();
  }
});
