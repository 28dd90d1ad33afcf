// A thread of the benchmarks on the shared memory: a producer if it was given an index, else the
// coordinator, who posts text as the run goes on and the rows, as JSON, when it is over.

import { parentPort, workerData } from 'node:worker_threads';

const { glue, module, memory, index, flags, cores } = workerData;
const { initSync, run, serve } = await import(glue);
initSync({ module, memory });

if (index !== undefined) {
  serve(index);
} else {
  const rows = run(flags, 'node', cores, (text) => parentPort.postMessage({ text }));
  parentPort.postMessage({ rows });
}
