// What a page's main thread waits for an allocation while workers hammer the heap:
//
//   cargo xtask bench chrome --latency [seconds]
//
// Eight workers allocate and free objects of one order that no cache holds, so that each call takes
// the heap's lock; the main thread allocates and frees such objects as well, and times each pair. The
// same on dlmalloc behind std's spin lock. The heaps take turns, a second each.

const WORKERS = 8;
const BYTES = 4096;
const TURN = 1000;

/** Measures for so many seconds a heap, and prints a table. */
export async function latency({ module, entry, seconds, print }) {
  const heaps = { warena: await warena(entry), dlmalloc: await dlmalloc(module) };
  const times = Object.fromEntries(Object.keys(heaps).map((name) => [name, []]));
  let busy = 0;
  for (let turn = 0; turn < seconds; turn += 1) {
    for (const [name, heap] of Object.entries(heaps)) {
      const stop = await hammer(heap.role);
      const end = performance.now() + TURN;
      for (let before = performance.now(); before < end;) {
        busy += heap.pair() ? 0 : 1;
        const after = performance.now();
        times[name].push(after - before);
        before = after;
      }
      await stop();
    }
  }
  print(`main thread, ${BYTES} B, ${WORKERS} workers that hammer, ${navigator.hardwareConcurrency} processors, ms for a pair`);
  for (const [name, all] of Object.entries(times)) {
    all.sort((left, right) => left - right);
    const at = (share) => all[Math.min(all.length - 1, Math.floor(all.length * share))].toFixed(3);
    print(`${name.padEnd(9)} median ${at(0.5)}  p99 ${at(0.99)}  p99.9 ${at(0.999)}  max ${at(1)}  pairs ${all.length}`);
  }
  print(`warena said Busy ${busy} times`);
}

async function warena(entry) {
  const { Arena } = await import(entry);
  const arena = await Arena.create({ maximumBytes: 64 << 20 });
  const pair = () => {
    try {
      arena.free(arena.alloc(BYTES));
      return true;
    } catch (error) {
      if (error.code !== 'Busy') {
        throw error;
      }
      return false;
    }
  };
  return { pair, role: { entry, handle: arena.handle() } };
}

async function dlmalloc({ glue, module }) {
  const bindings = await import(glue);
  const { memory } = bindings.initSync({ module });
  const pair = () => bindings.system_pair(BYTES);
  return { pair, role: { glue, module, memory } };
}

/** Starts the workers; resolves to what stops them when all are at work. */
async function hammer(role) {
  const word = new Int32Array(new SharedArrayBuffer(4));
  const start = () =>
    new Promise((resolve, reject) => {
      const worker = new Worker(new URL('latency_worker.mjs', import.meta.url), { type: 'module' });
      worker.onerror = ({ message }) => reject(new Error(message));
      worker.onmessage = () => resolve(worker);
      worker.postMessage({ ...role, word, bytes: BYTES });
    });
  const workers = await Promise.all(Array.from({ length: WORKERS }, start));
  return async () => {
    const ended = workers.map((worker) => new Promise((done) => (worker.onmessage = done)));
    Atomics.store(word, 0, 1);
    await Promise.all(ended);
    workers.forEach((worker) => worker.terminate());
  };
}
