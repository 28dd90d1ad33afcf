/** What agents do that are to end without detaching. */
import { parentPort, Worker } from 'node:worker_threads';
import { Arena } from 'warena';

/** Never resolves, and keeps the thread meanwhile. */
const forever = () => new Promise(() => setInterval(() => {}, 1 << 30));

/** Allocates some objects and stays. */
export async function idle(handle, { objects, bytes }) {
  const arena = await Arena.attach(handle);
  const pointers = Array.from({ length: objects }, () => arena.alloc(bytes));
  // Some in its cache as well.
  Array.from({ length: 10 }, () => arena.alloc(64)).forEach((pointer) => arena.free(pointer));
  parentPort.postMessage({ slot: arena.slot, pointers });
  await forever();
}

/** Ends without detaching. */
export async function leave(handle, { how }) {
  const arena = await Arena.attach(handle);
  arena.free(arena.alloc(100));
  if (how === 'exit') {
    process.exit(0);
  }
  if (how === 'throw') {
    throw new Error('on purpose');
  }
}

/** Makes the module allocate for itself, strings of some hundred bytes, until it is killed. */
export async function busyHeap(handle) {
  const arena = await Arena.attach(handle);
  parentPort.postMessage('attached');
  for (;;) {
    arena.stats();
    try {
      arena.free(arena.memory.buffer.byteLength - 8);
    } catch ({ message }) {
      parentPort.postMessage(message.length);
    }
  }
}

/** Allocates, checks and frees objects of all sizes, each full of its owner's stamp. */
export async function mixedLoad(handle, { seed, milliseconds }) {
  const arena = await Arena.attach(handle);
  parentPort.postMessage('attached');
  const held = [];
  const end = Date.now() + milliseconds;
  let state = seed;
  const below = (limit) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % limit;
  };
  const stamp = (seed % 255) + 1;
  let violations = 0;
  while (Date.now() < end) {
    for (let turn = 0; turn < 200; turn += 1) {
      if (held.length < 100 && below(2) === 0) {
        const bytes = 1 + below(below(20) === 0 ? 3 << 20 : 4000);
        const pointer = arena.alloc(bytes);
        const stamped = Math.min(bytes, 4096);
        arena.u8(pointer, stamped).fill(stamp);
        held.push({ pointer, stamped });
      } else if (held.length > 0) {
        const [{ pointer, stamped }] = held.splice(below(held.length), 1);
        violations += arena.u8(pointer, stamped).some((byte) => byte !== stamp) ? 1 : 0;
        arena.free(pointer);
      }
    }
  }
  held.forEach(({ pointer }) => arena.free(pointer));
  arena.detach();
  return { violations };
}

/** Attaches and has a worker that does. */
export async function parent(handle) {
  const arena = await Arena.attach(handle);
  const child = new Worker(new URL('./agent.mjs', import.meta.url), {
    workerData: { job: 'idle', handle: arena.handle(), options: { objects: 0, bytes: 1 } },
  });
  child.once('message', () => parentPort.postMessage('both'));
  await forever();
}

/** Creates a worker that makes an arena, and only then attaches to that. */
export async function lateWatcher() {
  const create = () =>
    new Worker(new URL('./agent.mjs', import.meta.url), {
      workerData: { job: 'host', handle: undefined, options: {} },
    });
  const ended = create();
  const worker = create();
  const handle = await new Promise((resolve) => worker.once('message', resolve));
  const arena = await Arena.attach(handle);
  const before = await arena.reap(0).catch(({ code }) => code);
  arena.watch(worker);
  const reaped = new Promise((resolve) => arena.on('reap', resolve));
  await Promise.all([worker.terminate(), ended.terminate()]);
  const output = { before, after: (await reaped).slots };
  try {
    arena.watch(ended);
  } catch ({ code }) {
    output.ended = code;
  }
  arena.detach();
  return { output };
}

/** Makes an arena above 2 GiB, has an agent die in it, and takes in what it left. */
export async function highArena() {
  const low = await Arena.create({ maximumBytes: 2 ** 32 });
  low.memory.grow(2 ** 31 / 65_536);
  // The second arena's header is in the first chunk behind that.
  const arena = await Arena.create();
  low.detach();
  const reaped = new Promise((resolve) => arena.on('reap', resolve));
  const worker = new Worker(new URL('./agent.mjs', import.meta.url), {
    workerData: { job: 'idle', handle: arena.handle(), options: { objects: 3, bytes: 5000 } },
  });
  await new Promise((resolve) => worker.once('message', resolve));
  await worker.terminate();
  const { slots } = await reaped;
  const found = [...arena.objects()];
  const output = {
    isHigh: arena.handle().address >= 2 ** 31,
    found: found.length,
    slots,
    isUnsigned: found.every(({ pointer }) => pointer >= 2 ** 31 && pointer < 2 ** 32),
  };
  found.forEach(({ pointer }) => arena.free(pointer | 0));
  output.allocatedObjects = arena.verify().allocatedObjects;
  arena.detach();
  return { output };
}

/** Makes an arena for others, and stays. */
export async function host() {
  const arena = await Arena.create({ maximumBytes: 16 << 20 });
  parentPort.postMessage(arena.handle());
  await forever();
}
