/** Agents that start when the memory is at its maximum: an answer, and nobody is left waiting (5, 27). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Arena } from 'warena';
import { runJob } from './agents.mjs';

test(
  'no room for another agent is an answer, again and again, and harms nobody',
  { timeout: 30_000 },
  async () => {
    const arena = await Arena.create({ maximumBytes: 2 << 20 });
    const pointer = arena.alloc(100);
    for (let time = 0; time < 3; time += 1) {
      const { code, message } = await runJob('shortLife', arena.handle());
      assert.equal(code, 'OutOfMemory');
      assert.match(
        message,
        /^no room to start another agent: it takes 0x20000 bytes for its stack.*larger maximumBytes/,
      );
    }
    arena.free(pointer);
    arena.free(arena.alloc(1 << 18));
    assert.equal(arena.verify().allocatedObjects, 0);
  },
);
