// The benchmarks in headless Chromium:
//
//   node chrome.mjs <folder of the modules> <entry of the packed package> [flags]
//
// A server on this machine hands out the same modules and scripts as in Node, with the headers that
// make a page cross-origin isolated, and answers how much processor time the page's process has
// spent, which no page can know. WARENA_CHROMIUM is the browser's file.

import { createServer } from 'node:http';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, extname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

import { watched } from './watched.mjs';

const here = dirname(fileURLToPath(import.meta.url));
// playwright-core is a package of web/, the one place where npm packages are pinned.
const { chromium } = createRequire(resolve(here, '../../web/package.json'))('playwright-core');

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm' };
const PAGE = '<!doctype html><title>Warena benchmarks</title><link rel="icon" href="data:,">';

const [modules, entry, ...flags] = process.argv.slice(2);
if (modules === undefined || entry === undefined) {
  fail('the first arguments are the folder of the modules and the package; see cargo xtask bench');
}
const folders = { modules: resolve(modules), package: resolve(dirname(entry)), host: here };

let browser;
let renderers;
const server = createServer(answer);
try {
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  browser = await chromium.launch({
    executablePath: process.env.WARENA_CHROMIUM,
    args: ['--no-sandbox'],
  });
  const page = await browser.newPage();
  page.on('console', (message) => console.log(message.text()));
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const { help, jsonFile, rows, watched: rounds } = await page.evaluate(
    async ([flags, entry]) => (await import('/host/page.mjs')).benchmark(flags, entry),
    [flags, basename(entry)],
  );
  if (help !== undefined) {
    process.stdout.write(help);
  } else {
    const all = JSON.parse(rows);
    if (rounds > 0) {
      await browser.close();
      all.push(...(await watchedRows(rounds)));
    }
    if (jsonFile !== undefined) {
      const lines = all.map((row) => JSON.stringify(row));
      await writeFile(jsonFile, `[\n${lines.join(',\n')}\n]\n`);
    }
  }
} catch (error) {
  fail(error.message);
} finally {
  await browser?.close();
  server.close();
}

/** The rows of the worker that is watched and not, printed as well. */
async function watchedRows(rounds) {
  const rows = await watched(rounds);
  console.log(`watched, ${rows[0].size} B, ${rows[0].allocs} allocs, 1 producer: latency of a pair, ns`);
  for (const { front, pair_ns: ns } of rows) {
    console.log(`${front.padStart(9)}  ${ns.toFixed(0)}`);
  }
  return rows;
}

async function answer(request, response) {
  const { pathname } = new URL(request.url, 'http://127.0.0.1');
  try {
    const [type, body] =
      pathname === '/' ? ['text/html', PAGE]
      : pathname === '/cpu' ? ['application/json', JSON.stringify(await cpuOfRenderers())]
      : [TYPES[extname(pathname)], await readFile(fileOf(pathname))];
    response.writeHead(200, {
      'Content-Type': type,
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Embedder-Policy': 'require-corp',
      'Cache-Control': 'no-store',
    });
    response.end(body);
  } catch (error) {
    response.writeHead(404);
    response.end(error.message);
  }
}

/** The file behind a path of one of the folders. */
function fileOf(pathname) {
  const [, name, ...rest] = decodeURIComponent(pathname).split('/');
  const folder = folders[name];
  const file = resolve(folder ?? here, ...rest);
  if (folder === undefined || !file.startsWith(folder + sep)) {
    throw new Error(`${pathname} is not served`);
  }
  return file;
}

/**
 * Nanoseconds that all threads of the pages' processes have spent on processors, as Linux tells it;
 * null elsewhere. The browser's other processes are no part of what is measured.
 */
async function cpuOfRenderers() {
  // Asked for once, when the page is there: asking takes longer than a round.
  renderers ??= await findRenderers();
  let sum = 0;
  for (const id of renderers) {
    const threads = join('/proc', String(id), 'task');
    for (const thread of await readdir(threads).catch(() => [])) {
      const text = await readFile(join(threads, thread, 'schedstat'), 'utf8').catch(() => '0');
      sum += Number(text.split(' ')[0]);
    }
  }
  return sum > 0 ? sum : null;
}

/** The processes of pages. */
async function findRenderers() {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  return processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id);
}

function fail(message) {
  console.error(`error: ${message}`);
  process.exitCode = 1;
}
