/**
 * The package in a fresh Vite app with no configuration but the two headers: served by the dev
 * server, whose dependency optimiser rewrites packages, and built and previewed; in the page and
 * in its worker. The app is the example of the package's README, with its output in the title.
 */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

const web = fileURLToPath(new URL('../../web/', import.meta.url));
const fromWeb = createRequire(join(web, 'package.json'));
const { build, createServer, preview } = await import(pathToFileURL(fromWeb.resolve('vite')).href);
const { chromium } = fromWeb('playwright-core');

const serving = {
  host: '127.0.0.1',
  headers: {
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Embedder-Policy': 'require-corp',
  },
};
/** Milliseconds that a page may take: the dev server bundles the package first. */
const PATIENCE = 30_000;

let browser;
let app;

before(async () => {
  app = { root: mkdtempSync(join(tmpdir(), 'warena-app-')), configFile: false, logLevel: 'warn' };
  const installed = join(web, 'node_modules/warena');
  cpSync(installed, join(app.root, 'node_modules/warena'), { recursive: true });
  const readme = readFileSync(join(installed, 'README.md'), 'utf8');
  for (const [, name, text] of readme.matchAll(/^```js (\S+)\n(.*?)^```$/gms)) {
    const shown = text.replace(/console\.log\((.*)\);/, 'document.title = [$1].join(" ");');
    writeFileSync(join(app.root, name), shown);
  }
  const page = '<!doctype html><title></title><script type="module" src="./main.js"></script>';
  writeFileSync(join(app.root, 'index.html'), page);
  browser = await chromium.launch({
    executablePath: process.env.WARENA_CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
});

after(async () => {
  await browser?.close();
  rmSync(app.root, { recursive: true });
});

/** The title that the page gives itself, or the first error that nobody caught there. */
async function visit({ httpServer }) {
  const page = await browser.newPage();
  const failed = new Promise((_, reject) => page.on('pageerror', reject));
  const titled = async () => {
    await page.goto(`http://127.0.0.1:${httpServer.address().port}/`);
    await page.waitForFunction(() => document.title !== '', null, { timeout: PATIENCE });
    return page.title();
  };
  try {
    return await Promise.race([titled(), failed]);
  } finally {
    await page.close();
  }
}

test('the dev server serves it (36)', async () => {
  const server = await createServer({ ...app, server: { ...serving, port: 0, hmr: false, watch: null } });
  await server.listen();
  try {
    assert.equal(await visit(server), 'hello 0');
  } finally {
    await server.close();
  }
});

test('a build has it, in the page and in the worker (36)', async () => {
  await build(app);
  // Vite's preview takes no port 0: the next free one from here on.
  const server = await preview({ ...app, preview: { ...serving, port: 5190 } });
  try {
    assert.equal(await visit(server), 'hello 0');
  } finally {
    await server.close();
  }
});

test('without the headers it says which are missing (40)', async () => {
  const server = await preview({ ...app, preview: { host: serving.host, port: 5190 } });
  try {
    await assert.rejects(visit(server), /not cross-origin isolated.*Opener-Policy: same-origin.*Embedder-Policy: require-corp/s);
  } finally {
    await server.close();
  }
});
