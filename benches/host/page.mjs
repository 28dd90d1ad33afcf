// The benchmarks on a page: its workers are started here, text goes to the console, where
// chrome.mjs reads it.

import { latency } from './latency.mjs';
import { MODULES, run } from './run.mjs';

/** Runs what the flags ask for, with the modules and the package that the server has. */
export async function benchmark(flags, entry) {
  if (!crossOriginIsolated) {
    throw new Error('the page is not cross-origin isolated: it has no shared memory');
  }
  const modules = MODULES.map(async (name) => {
    const file = `${location.origin}/modules/${name}/warena_benches`;
    return { glue: `${file}.js`, module: await WebAssembly.compileStreaming(fetch(`${file}_bg.wasm`)) };
  });
  const print = (text) => console.log(text);
  const packed = `${location.origin}/package/${entry}`;
  if (flags[0] === '--latency') {
    const seconds = Number(flags[1] ?? 10);
    await latency({ module: await modules[0], entry: packed, seconds, print });
    return {};
  }
  return run({
    host: 'chrome',
    modules: await Promise.all(modules),
    package: packed,
    flags,
    cores: navigator.hardwareConcurrency,
    print,
    spawn,
  });
}

function spawn(role, receive, failed) {
  const worker = new Worker(new URL('worker.mjs', import.meta.url), { type: 'module' });
  worker.addEventListener('error', ({ message }) => failed(new Error(message ?? 'a worker failed')));
  worker.addEventListener('message', ({ data }) => receive(data));
  worker.postMessage(role);
}
