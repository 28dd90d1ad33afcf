/** Agents that start when the memory is at its maximum: an answer, and nobody is left waiting (5, 27). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Arena } from 'warena';
import { runJob, runJobs } from './agents.mjs';

/** One more than fit beside each other: stacks of 128 KiB in the one chunk of the module's heap. */
const AGENTS = 8;

test(
  'no room for another agent is an answer, again and again, and harms nobody',
  { timeout: 60_000 },
  async () => {
    const arena = await Arena.create({ maximumBytes: 3 << 20 });
    const pointer = arena.alloc(100);
    for (let time = 0; time < 3; time += 1) {
      const words = new Int32Array(new SharedArrayBuffer(8));
      const jobs = runJobs(AGENTS, 'stay', arena.handle(), { words });
      while (Atomics.load(words, 1) < AGENTS) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      Atomics.store(words, 0, 1);
      Atomics.notify(words, 0);
      const refused = (await jobs).filter(({ code }) => code !== undefined);
      assert.ok(refused.length > 0 && refused.length < AGENTS, `${refused.length} refused`);
      for (const { code, message } of refused) {
        assert.equal(code, 'OutOfMemory');
        assert.match(
          message,
          /^no room to start another agent: it takes 0x20000 bytes for its stack.*larger maximumBytes/,
        );
      }
    }
    assert.equal((await runJob('shortLife', arena.handle())).code, undefined, 'there is room again');
    arena.free(pointer);
    arena.free(arena.alloc(1 << 18));
    assert.equal(arena.verify().allocatedObjects, 0);
  },
);
