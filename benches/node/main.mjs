// The benchmarks in Node: `node main.mjs <folder of the wasm-bindgen glue> [flags]`.
//
// This thread makes the shared memory and starts the workers: the producers, which wait in the
// module for work, and one that coordinates them. All logic and all text is Rust; here is only
// what Rust cannot do for itself: threads, files, the terminal. The exit code is 1 if anything
// failed, a worker's trap included.

import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';

const [folder, ...flags] = process.argv.slice(2);
if (folder === undefined) {
  fail('the first argument must be the folder of the wasm-bindgen glue; see cargo xtask bench node');
}

// Node takes the glue for CommonJS unless a manifest beside it says otherwise.
await writeFile(join(folder, 'package.json'), '{ "type": "module" }\n');
const glue = pathToFileURL(resolve(folder, 'warena_benches.js')).href;
const module = await WebAssembly.compile(await readFile(join(folder, 'warena_benches_bg.wasm')));
const { initSync, Request } = await import(glue);
const { memory } = initSync({ module });

let request;
try {
  request = new Request(flags);
} catch (error) {
  fail(error.message);
}
if (request.help !== undefined) {
  process.stdout.write(request.help);
} else {
  for (let index = 0; index < request.producers; index += 1) {
    start({ index });
  }
  const coordinator = start({ flags, cores: availableParallelism() });
  coordinator.on('message', async ({ text, rows }) => {
    if (text !== undefined) {
      console.log(text);
    }
    if (rows !== undefined && request.jsonFile !== undefined) {
      await writeFile(request.jsonFile, rows);
    }
  });
}

function start(role) {
  const worker = new Worker(new URL('worker.mjs', import.meta.url), {
    workerData: { glue, module, memory, ...role },
  });
  worker.on('error', (error) => fail(error.message));
  return worker;
}

function fail(message) {
  console.error(`error: ${message}`);
  process.exit(1);
}
