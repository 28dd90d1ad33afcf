/**
 * An AudioWorklet, in a real AudioContext, on an arena that workers hammer: it attaches after them, and
 * its processor allocates and frees in every quantum by the calls for that.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { App } from './app.mjs';

/** Milliseconds of sound. */
const MILLISECONDS = Number(process.env.WARENA_WORKLET_MILLISECONDS ?? 4000);

const files = {
  'main.js': `
    import { Arena } from 'warena';
    const arena = await Arena.create({ maximumBytes: 64 << 20 });
    const workers = await Promise.all(Array.from({ length: 3 }, (_, seed) => new Promise((ready) => {
      const worker = new Worker(new URL('./hammer.js', import.meta.url), { type: 'module' });
      worker.onmessage = () => ready(worker);
      worker.postMessage({ handle: arena.handle(), seed });
    })));

    const context = new AudioContext();
    await context.audioWorklet.addModule(new URL('./processor.js', import.meta.url));
    const node = new AudioWorkletNode(context, 'allocating');
    node.connect(context.destination);
    const next = () => new Promise((done) => (node.port.onmessage = ({ data }) => done(data)));
    const attach = async (tries) => {
      const attached = next();
      node.port.postMessage({ handle: arena.handle() });
      const { busy, error, ...answer } = await attached;
      if (error) throw new Error(error);
      // Whoever holds the heap may be off the processor for longer than a worklet tries.
      return busy && tries > 0 ? attach(tries - 1) : answer;
    };
    const { slot, scope } = await attach(100);
    const living = await arena.reap(slot).catch(({ code }) => code);
    const end = await arena.vouch(slot);
    const vouched = await arena.reap(slot).catch(({ code }) => code);

    await context.resume();
    await new Promise((done) => setTimeout(done, ${MILLISECONDS}));
    const stopped = next();
    node.port.postMessage('stop');
    const sound = await stopped;
    const violations = (await Promise.all(workers.map((worker) => new Promise((done) => {
      worker.onmessage = ({ data }) => done(data);
      worker.postMessage('stop');
    })))).reduce((sum, count) => sum + count, 0);

    // The worklet never detached; now the page says that it has ended.
    await context.close();
    const reaped = new Promise((done) => arena.on('reap', done));
    end();
    const { slots } = await reaped;
    const { allocatedObjects } = arena.verify();
    document.title = JSON.stringify({
      living, vouched, scope, sound, violations, slots, allocatedObjects, seats: arena.stats().workers,
    });
  `,
  'processor.js': `
    import { Arena, ArenaError } from 'warena';
    const names = ['TextDecoder', 'TextEncoder', 'performance', 'fetch', 'atob', 'setTimeout', 'navigator'];
    const SIZES = [32, 256, 2048];
    class Allocating extends AudioWorkletProcessor {
      sound = { quanta: 0, allocations: 0, busy: 0, violations: 0, refused: '', objects: 0 };
      held = [];
      constructor() {
        super();
        this.port.onmessage = ({ data }) => this.hear(data).catch((error) => this.port.postMessage(error.code === 'Busy' ? { busy: true } : { error: String(error) }));
      }
      async hear(data) {
        if (data === 'stop') {
          this.held.splice(0).forEach(({ pointer }) => this.arena.freeNowait(pointer));
          try { this.arena.free(16); } catch (error) { this.sound.refused = error.code + ' ' + (error instanceof ArenaError); }
          this.sound.objects = typeof this.arena.stats().ownedBytes;
          this.arena.flush();
          const { sound } = this;
          this.arena = this.attached = undefined;
          this.port.postMessage(sound);
          return;
        }
        const arena = (this.attached ??= await Arena.attach(data.handle));
        SIZES.forEach((bytes) => arena.reserve(bytes, 8));
        this.arena = arena;
        this.port.postMessage({ slot: arena.slot, scope: names.filter((name) => name in globalThis) });
      }
      process() {
        const { arena, held, sound } = this;
        if (arena === undefined) return true;
        sound.quanta += 1;
        for (let index = 0; index < 8; index += 1) {
          const bytes = SIZES[(sound.quanta + index) % SIZES.length];
          try {
            const pointer = arena.allocNowait(bytes);
            arena.u8(pointer, bytes).fill(0xaa);
            held.push({ pointer, bytes });
            sound.allocations += 1;
          } catch (error) {
            if (error.code !== 'Busy') throw error;
            sound.busy += 1;
          }
        }
        while (held.length > 12) {
          const { pointer, bytes } = held.shift();
          if (arena.u8(pointer, bytes).some((byte) => byte !== 0xaa)) sound.violations += 1;
          arena.freeNowait(pointer);
        }
        return true;
      }
    }
    registerProcessor('allocating', Allocating);
  `,
  'hammer.js': `
    import { Arena } from 'warena';
    let stop = false;
    self.onmessage = async ({ data }) => {
      if (data === 'stop') { stop = true; return; }
      const arena = await Arena.attach(data.handle);
      self.postMessage('ready');
      const stamp = data.seed + 1;
      let violations = 0;
      const held = [];
      while (!stop) {
        for (let turn = 0; turn < 2000; turn += 1) {
          const bytes = [32, 256, 2048, 9000][(turn + stamp) % 4];
          const pointer = arena.alloc(bytes);
          arena.u8(pointer, bytes).fill(stamp);
          held.push({ pointer, bytes });
          if (held.length > 40) {
            const { pointer: oldest, bytes: size } = held.shift();
            if (arena.u8(oldest, size).some((byte) => byte !== stamp)) violations += 1;
            arena.free(oldest);
          }
        }
        await new Promise((done) => setTimeout(done, 0));
      }
      held.forEach(({ pointer }) => arena.free(pointer));
      arena.detach();
      self.postMessage(violations);
    };
  `,
};

let app;
before(async () => {
  app = await App.make(files, ['--autoplay-policy=no-user-gesture-required', '--mute-audio']);
});
after(() => app?.close());

test('an AudioWorklet that attaches after workers allocates in process() (35)', async () => {
  const { living, vouched, scope, sound, violations, slots, allocatedObjects, seats } = JSON.parse(
    await app.develop(),
  );
  assert.ok(!scope.includes('TextDecoder') && !scope.includes('setTimeout'), scope.join());
  assert.ok(sound.quanta > MILLISECONDS / 10, JSON.stringify(sound));
  assert.ok(sound.allocations > sound.quanta, JSON.stringify(sound));
  assert.equal(sound.violations + violations, 0);
  assert.equal(sound.refused, 'Foreign true');
  assert.equal(sound.objects, 'number');
  assert.deepEqual([living, vouched], ['Live', 'Live']);
  assert.deepEqual([slots, allocatedObjects, seats], [1, 0, 1]);
});
