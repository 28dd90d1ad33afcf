/**
 * A page's main thread attaches while another agent starts. It may not block until that has happened,
 * so it waits asynchronously for its turn, and up to a bound.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { App, installed } from './app.mjs';

const facts = readFileSync(join(installed, 'dist/generated/facts.js'), 'utf8');
const starting = Number(facts.match(/"starting": (\d+)/)[1]);

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
    for (const milliseconds of [0, 300, 12_000]) {
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
  // Takes the turn of an agent that nobody watches, keeps it, and ends it.
  'holder.js': `
    self.onmessage = ({ data: { memory, milliseconds } }) => {
      const turn = new Int32Array(memory.buffer, ${starting}, 1);
      Atomics.store(turn, 0, 1_000_000);
      self.postMessage('held');
      setTimeout(() => {
        Atomics.store(turn, 0, 0);
        Atomics.notify(turn, 0);
        self.postMessage('free');
      }, milliseconds);
    };
  `,
};

test('the main thread awaits its turn to start, up to a bound (32)', async () => {
  const app = await App.make(files);
  try {
    assert.equal(await app.develop(), 'attached attached Busy attached 0');
  } finally {
    await app.close();
  }
});
