// The benchmarks in Node:
//
//   node node.mjs <folder of the modules> <entry of the packed package> [flags]
//
// All logic and nearly all text is Rust; here is only what Rust cannot do for itself: threads,
// files, the terminal. The exit code is 1 if anything failed, a worker's trap included.

import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';

import { MODULES, run } from './run.mjs';

const [folder, entry, ...flags] = process.argv.slice(2);
if (folder === undefined || entry === undefined) {
  fail('the first arguments are the folder of the modules and the package; see cargo xtask bench');
}

// Node takes the glue for CommonJS unless a manifest beside it says otherwise.
await writeFile(join(folder, 'package.json'), '{ "type": "module" }\n');
// A test that takes a moment has the first alone.
const built = MODULES.filter((name) => existsSync(join(folder, name)));
const modules = built.map(async (name) => {
  const file = resolve(folder, name, 'warena_benches');
  const module = await WebAssembly.compile(await readFile(`${file}_bg.wasm`));
  return { glue: pathToFileURL(`${file}.js`).href, module };
});

try {
  const { help, jsonFile, rows } = await run({
    host: 'node',
    modules: await Promise.all(modules),
    package: pathToFileURL(resolve(entry)).href,
    flags,
    cores: availableParallelism(),
    print: console.log,
    spawn,
  });
  if (help !== undefined) {
    process.stdout.write(help);
  } else if (jsonFile !== undefined) {
    await writeFile(jsonFile, rows);
  }
} catch (error) {
  fail(error.message);
}
process.exit(0);

function spawn(role, receive, failed) {
  const worker = new Worker(new URL('worker.mjs', import.meta.url));
  worker.on('error', failed);
  worker.on('message', receive);
  worker.postMessage(role);
}

function fail(message) {
  console.error(`error: ${message}`);
  process.exit(1);
}
