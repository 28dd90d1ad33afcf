/** The killer in a page: runs what its address asks for, and tells the server that it came from. */
import * as host from './browser_host.mjs';
import { KINDS } from './kinds.mjs';

const options = Object.fromEntries(new URLSearchParams(location.search));
const tell = (report) => fetch('/report', { method: 'POST', body: JSON.stringify(report) });
addEventListener('error', ({ message }) => tell({ error: message }));
addEventListener('unhandledrejection', ({ reason }) => tell({ error: `${reason}\n${reason.stack}` }));

const rows = await KINDS[options.kind](host, {
  kills: Number(options.kills),
  seed: Number(options.seed),
  only: options.only,
  onProgress: (text) => void tell({ text }),
});
await tell({ rows });
