/**
 * What agents do that know which calls reach the module: the same calls through the package, which
 * serves hits itself, or through the module's own exports.
 */
import assert from 'node:assert/strict';
import { Arena } from 'warena';
import { random } from './random.mjs';

const { FACTS } = await import(new URL('generated/facts.js', import.meta.resolve('warena')));
const { layout } = FACTS;

/** Calls of the module's `alloc` and `free_object` in this thread so far. */
const calls = { alloc: 0, free_object: 0 };
/** The module's exports as they are, and the seats that `attach` returned. */
let exported;
const seats = [];

/** Every instance of this thread has its calls counted from now on. */
function countCalls() {
  const Instance = WebAssembly.Instance;
  WebAssembly.Instance = function (module, imports) {
    exported = new Instance(module, imports).exports;
    const counted = { ...exported };
    for (const name of Object.keys(calls)) {
      counted[name] = (...values) => {
        calls[name] += 1;
        return exported[name](...values);
      };
    }
    counted.attach = (...values) => {
      seats.push(exported.attach(...values) >>> 0);
      return seats.at(-1);
    };
    return { exports: counted };
  };
}

/** Sizes and pointers that are none. */
const BAD_SIZES = [0, -0, -1, 1.5, NaN, 2 ** 32, 2 ** 32 + 64, '64', 64n, null, undefined, [64]];
const BAD_POINTERS = [1.5, NaN, 2 ** 32, -(2 ** 31) - 1, '64', 64n, null, undefined, -16, 16];

/** Makes some thousand calls of all kinds that are drawn from `seed`; what each of them had to say. */
export async function callAtRandom(_, { seed, steps, options, direct }) {
  countCalls();
  const arena = await Arena.create({ maximumBytes: 32 << 20, ...options });
  const [seat] = seats;
  const below = random(seed);
  // By the exports a refusal is no sentence: for that the package is asked again, and must refuse too.
  const alloc = direct
    ? (bytes) => exported.alloc(seat, bytes) >>> 0 || arena.alloc(bytes)
    : (bytes) => arena.alloc(bytes);
  const free = direct
    ? (pointer) => void (exported.free_object(seat, pointer) || arena.free(pointer))
    : (pointer) => arena.free(pointer);
  const held = [];
  const freed = [];
  const take = () => held.splice(below(held.length), 1)[0] ?? 0;
  const size = () => 1 + below(below(30) === 0 ? 400_000 : below(2) === 0 ? 2200 : 40);
  const keep = (pointer) => (held.push(pointer), pointer);
  const letGo = (release) => {
    const pointer = take();
    freed.push(pointer);
    release(pointer);
    return pointer;
  };
  /** Frees what may be an object or not. */
  const freeGuess = (pointer) => {
    free(pointer);
    const index = held.indexOf(pointer);
    assert.ok(pointer === 0 || index !== -1, 'what is nobody\'s was freed');
    held.splice(index, index === -1 ? 0 : 1);
  };
  const any = (values) => values[below(values.length)];
  // Bursts of one kind of call, so that stacks run empty and full.
  const kinds = [
    () => keep(alloc(size())),
    () => letGo(free),
    () => keep(arena.allocNowait(1 + below(1000))),
    () => letGo((pointer) => arena.freeNowait(pointer)),
    () => keep(arena.realloc(take(), size())),
    () => keep(arena.allocZeroed(size())),
    () => arena.freeBulk([take(), take()]).length,
    () => arena.allocBulk(64, 4).map(keep).length,
    () => arena.flush(),
    () => arena.reserve(64, 4),
    () => freeGuess((any(freed) ?? 0) >>> 0),
    () => freeGuess((any(held) ?? 0) + any([1, 16, 32])),
    () => freeGuess(((any(held) ?? 0) & -layout.chunkBytes) + any([0, 16, 4096])),
    () => arena.free(any(BAD_POINTERS)),
    () => arena.alloc(any(BAD_SIZES)),
  ];
  const log = [];
  for (let step = 0; step < steps; ) {
    const kind = below(2) === 0 ? below(2) : below(kinds.length);
    for (let turn = below(kind < 4 ? 30 : 2); turn >= 0; turn -= 1, step += 1) {
      try {
        log.push(held.length > 400 ? letGo(free) : kinds[kind]());
      } catch ({ code, message, pointer, bytes }) {
        assert.notEqual(code, undefined, message);
        log.push({ kind, code, message, pointer, bytes });
      }
    }
    if (below(10) === 0) {
      const { workers, heap, transfer } = arena.snapshot();
      log.push(arena.stats(), workers, heap, transfer);
    }
  }
  held.forEach(free);
  log.push(arena.verify());
  const made = { ...calls };
  arena.detach();
  return { log, calls: made };
}

/** Allocates and frees at random; the calls of the module that were no miss, and how often memory grew. */
export async function countHits(_, { seed, steps, options }) {
  countCalls();
  const arena = await Arena.create({ maximumBytes: 32 << 20, ...options });
  const below = random(seed);
  const held = [];
  let [hits, needless] = [0, 0];
  let snapshot;
  const lengths = new Set();
  const call = (name, isHit, make) => {
    const before = calls[name];
    const pointer = make();
    const made = calls[name] - before;
    assert.ok(made === 1 || (made === 0 && isHit), name);
    hits += isHit ? 1 : 0;
    needless += isHit ? made : 0;
    lengths.add(arena.memory.buffer.byteLength);
    return pointer;
  };
  for (let step = 0; step < steps; step += 1) {
    snapshot = arena.snapshot(snapshot);
    const { config, workers } = snapshot;
    const [{ fill }] = workers;
    const orderOf = (bytes) => Math.max(0, Math.ceil(Math.log2(bytes / layout.unitBytes)));
    if (held.length < 20 || (held.length < 3000 && below(5) < 3)) {
      const bytes = 1 + below(below(4) === 0 ? 40_000 : 2048);
      const isHit = fill[orderOf(bytes)] > 0;
      held.push({ pointer: call('alloc', isHit, () => arena.alloc(bytes)), bytes });
    } else {
      const [{ pointer, bytes }] = held.splice(below(held.length), 1);
      const isHit = fill[orderOf(bytes)] < config.capacity;
      call('free_object', isHit, () => arena.free(pointer));
    }
  }
  held.forEach(({ pointer }) => arena.free(pointer));
  const { allocatedObjects } = arena.verify();
  return { hits, needless, lengths: lengths.size, allocatedObjects };
}

/** Hits where addresses are negative to WebAssembly. */
export async function hitsHighUp() {
  countCalls();
  const low = await Arena.create({ maximumBytes: 2 ** 32 });
  low.memory.grow(2 ** 31 / 65_536);
  const arena = await Arena.create();
  arena.free(arena.alloc(64));
  const before = { ...calls };
  const pointer = arena.alloc(64);
  arena.free(pointer);
  return { pointer, before, after: calls, allocatedObjects: arena.verify().allocatedObjects };
}

/** Allocations that carry from the low half of their counter into the high one. */
export async function carry() {
  countCalls();
  const arena = await Arena.create();
  const order = 2;
  const pops = seats[0] + layout.slotLifos + order * layout.lifoBytes + layout.lifoPops;
  const counter = new BigUint64Array(arena.memory.buffer, pops, 1);
  arena.reserve(64, 8);
  counter[0] = 0xffff_fffdn;
  const before = calls.alloc;
  const pointers = Array.from({ length: 5 }, () => arena.alloc(64));
  pointers.forEach((pointer) => arena.free(pointer));
  return { counted: counter[0], calls: calls.alloc - before, ...arena.verify() };
}
