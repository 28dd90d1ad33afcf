/**
 * A page's main thread attaches while the start of another agent is under way. It may not wait for
 * the lock that guards such starts (in Chromium the attempt traps), so it tries again, for a while.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { App, installed } from './app.mjs';

const facts = readFileSync(join(installed, 'dist/generated/facts.js'), 'utf8');
const initialPages = Number(facts.match(/INITIAL_PAGES = (\d+)/)[1]);

const files = {
  // The main thread's first instance needs no such start, so each attempt is made in a frame.
  'main.js': `
    import { Arena } from 'warena';
    const arena = await Arena.create({ maximumBytes: 64 << 20 });
    const holder = new Worker(new URL('./holder.js', import.meta.url), { type: 'module' });
    const loaded = () => new Promise((done) => addEventListener('message', done, { once: true }));
    const attempt = (frame) => frame.contentWindow.attach(arena.handle()).then(
      (other) => { other.free(other.alloc(100)); other.detach(); return 'attached'; },
      ({ code }) => code,
    );
    const results = [];
    let frame;
    for (const milliseconds of [0, 10, 5000]) {
      frame = document.createElement('iframe');
      frame.src = './frame.html';
      document.body.append(frame);
      await loaded();
      const held = new Promise((done) => (holder.onmessage = done));
      holder.postMessage({ memory: arena.memory, milliseconds });
      await held;
      results.push(await attempt(frame));
    }
    await new Promise((done) => (holder.onmessage = done));
    results.push(await attempt(frame), arena.verify().allocatedObjects);
    document.title = results.join(' ');
  `,
  'frame.html': `<!doctype html><title></title><script type="module" src="./frame.js"></script>`,
  'frame.js': `
    import { Arena } from 'warena';
    window.attach = (handle) => Arena.attach(handle);
    parent.postMessage('ready', '*');
  `,
  // Takes the lock as an agent does that starts, keeps it, and lets go of it.
  'holder.js': `
    self.onmessage = ({ data: { memory, milliseconds } }) => {
      const lock = new Int32Array(memory.buffer, ${(initialPages - 1) * 65_536 + 4}, 1);
      Atomics.store(lock, 0, 1);
      self.postMessage('held');
      setTimeout(() => {
        Atomics.store(lock, 0, 0);
        Atomics.notify(lock, 0, 1);
        self.postMessage('free');
      }, milliseconds);
    };
  `,
};

test('the main thread spins for the start of another agent, up to a bound (32)', async () => {
  const app = await App.make(files);
  try {
    assert.equal(await app.develop(), 'attached attached Busy attached 0');
  } finally {
    await app.close();
  }
});
