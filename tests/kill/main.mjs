/**
 * The killer: `node main.mjs node|chrome|firefox random|chosen [--kills N] [--seed N] [--only NAME]`, in
 * a folder with the package installed. `chosen` wants its test build; `only` names scenes.
 */
import { parseArgs } from 'node:util';
import { KINDS } from './kinds.mjs';
import { Progress, table } from './table.mjs';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    kills: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string', default: '' },
  },
});
const [host, kind] = positionals;
const { kills, seed, only } = values;
const progress = new Progress(`${kind} kills in ${host}, seed ${seed}`);
const onProgress = (text) => progress.say(text);
if (host === 'node') {
  const options = { kills: Number(kills), seed: Number(seed), only, onProgress };
  table(progress.title, await KINDS[kind](await import('./node_host.mjs'), options));
} else {
  const { inBrowser } = await import('./browsers.mjs');
  table(progress.title, await inBrowser(host, { kind, kills, seed, only }, onProgress));
}
// Threads that were told to end are not waited for.
process.exit(0);
