// A run of the benchmarks, the same in Node and on a page. `spawn` is what differs.
//
//   main    peers and Warena      ──┐            ┌── 8 producers each, which wait in the
//   mimalloc-v2, mimalloc-v3      ──┴─ run.mjs ──┤   module for work
//   (a module and memory each)                   └── 1 coordinator, in all modules: worker.mjs
//
// Each module has a memory of its own, since the two versions of mimalloc have the same symbols.
// The coordinator runs the first, whose Rust code has the others take their turns.

/** The modules, each in a folder of this name: the one that has the run, and its peers. */
export const MODULES = ['main', 'mimalloc-v2', 'mimalloc-v3'];

/**
 * Runs what the flags ask for.
 *
 * `modules` are pairs of glue (an address) and module, as MODULES says; `package` is the address of
 * the packed package; `spawn(role, receive, failed)` starts a worker with worker.mjs. Resolves to
 * the rows as JSON, the file that they are to be written to, and how many rounds the page's worker is
 * to be watched for, or to a help text.
 */
export async function run({ host, modules, package: entry, flags, cores, print, spawn }) {
  const { initSync, Request } = await import(modules[0].glue);
  const instances = [{ ...modules[0], memory: initSync(modules[0]).memory }];
  const request = new Request(flags);
  if (request.help !== undefined) {
    return { help: request.help };
  }
  for (const peer of modules.slice(1)) {
    const glue = await import(peer.glue);
    instances.push({ ...peer, memory: glue.initSync(peer).memory });
  }
  const { producers, jsonFile, rounds } = request;
  const watched = request.wants('watched') ? rounds : 0;
  const rows = await new Promise((resolve, reject) => {
    const receive = ({ text, rows, error }) => {
      if (error !== undefined) {
        reject(new Error(error));
      } else if (text !== undefined) {
        print(text);
      } else {
        resolve(rows);
      }
    };
    for (const instance of instances) {
      for (let index = 0; index < producers; index += 1) {
        spawn({ index, instance }, receive, reject);
      }
    }
    spawn({ host, instances, package: entry, flags, cores }, receive, reject);
  });
  return { rows, jsonFile, watched };
}
