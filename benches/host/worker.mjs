// A thread of the benchmarks: a producer if its role has an index, else the coordinator, who posts
// text as the run goes on and the rows, as JSON, when it is over.

import { fronts } from './fronts.mjs';

const inNode = globalThis.process?.versions?.node !== undefined;
// On a page the listener must be there before this script first waits: what comes earlier is lost.
const port = inNode ? (await import('node:worker_threads')).parentPort : self;
const role = await new Promise((resolve) => {
  if (inNode) {
    port.once('message', resolve);
  } else {
    port.addEventListener('message', ({ data }) => resolve(data), { once: true });
  }
});

try {
  if (role.index !== undefined) {
    (await instantiate(role.instance)).serve(role.index);
  } else {
    await coordinate(role);
  }
} catch (error) {
  // Not left uncaught: a page would not learn the message of an error in a worker.
  port.postMessage({ error: error?.message ?? String(error) });
}

async function instantiate({ glue, module, memory }) {
  const bindings = await import(glue);
  bindings.initSync({ module, memory });
  return bindings;
}

async function coordinate({ host, instances, package: entry, flags, cores }) {
  globalThis.processCpuNs = inNode ? cpuOfNode : cpuOfRenderer;
  const [own, ...peers] = await Promise.all(instances.map(instantiate));
  const heaps = peers.flatMap((peer) =>
    peer.offered().map((allocator, index) => ({
      allocator,
      round: (cell, plan) => peer.measure(index, cell, plan),
    })),
  );
  heaps.push(...(await fronts(own, entry)));
  const rows = own.run(flags, host, cores, (text) => port.postMessage({ text }), heaps);
  for (const peer of peers) {
    peer.dismiss();
  }
  port.postMessage({ rows });
}

/** Nanoseconds that all threads of this process have spent on processors. */
function cpuOfNode() {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1e3;
}

/** The same of the page's process, which only the server can tell; null when it cannot either. */
function cpuOfRenderer() {
  const request = new XMLHttpRequest();
  request.open('GET', '/cpu', false);
  request.send();
  return JSON.parse(request.responseText);
}
