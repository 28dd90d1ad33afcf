/**
 * Runs the killer's page in a browser: Vite serves this folder with the two headers, the browser is
 * started with nothing but the page's address, and the page posts what came of it.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

const host = '127.0.0.1';
const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

/** Milliseconds without a word from the page after which the run has failed. */
const SILENCE = 120_000;

const BROWSERS = {
  chrome: {
    program: process.env.WARENA_CHROMIUM ?? 'chromium',
    flags: (profile) => [
      '--headless=new',
      '--no-sandbox',
      '--no-first-run',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      `--user-data-dir=${profile}`,
    ],
  },
  firefox: {
    program: process.env.WARENA_FIREFOX ?? 'firefox-esr',
    flags: (profile) => ['-headless', '-no-remote', '-profile', profile],
  },
};

/** Resolves with the rows that the page found. */
export async function inBrowser(name, options, onProgress) {
  const report = new Report(onProgress);
  const server = await serve(report);
  const profile = mkdtempSync(join(tmpdir(), 'warena-kill-'));
  const { program, flags } = BROWSERS[name];
  const query = new URLSearchParams(options);
  const url = `http://${host}:${server.httpServer.address().port}/?${query}`;
  const browser = spawn(program, [...flags(profile), url], { stdio: 'ignore' });
  browser.on('error', (error) => report.fail(error));
  browser.on('exit', (code) => report.fail(new Error(`${program} ended with ${code}`)));
  try {
    return await report.rows;
  } finally {
    const ended = new Promise((resolve) => browser.once('exit', resolve));
    if (browser.exitCode === null && browser.kill()) {
      await ended;
    }
    await server.close();
    await remove(profile);
  }
}

/** Removes a profile, in which processes that the browser had started may still write for a moment. */
async function remove(profile) {
  for (let tries = 1; ; tries += 1) {
    try {
      rmSync(profile, { recursive: true, force: true });
      return;
    } catch (error) {
      if (tries === 100) {
        throw error;
      }
      await pause(100);
    }
  }
}

/** What the page says. */
class Report {
  #onProgress;
  #silence;

  constructor(onProgress) {
    this.#onProgress = onProgress;
    this.rows = new Promise((resolve, reject) => {
      this.succeed = resolve;
      this.fail = reject;
    });
    this.#hear();
  }

  take({ text, rows, error }) {
    this.#hear();
    if (error !== undefined) {
      this.fail(new Error(error));
    } else if (rows !== undefined) {
      clearTimeout(this.#silence);
      this.succeed(rows);
    } else {
      this.#onProgress(text);
    }
  }

  #hear() {
    clearTimeout(this.#silence);
    const silent = () => this.fail(new Error(`the page was silent for ${SILENCE / 1000} s`));
    this.#silence = setTimeout(silent, SILENCE);
  }
}

async function serve(report) {
  // Vite is a package of web/, the one place where npm packages are pinned.
  const fromWeb = createRequire(join(process.env.WARENA_ROOT, 'web/package.json'));
  const { createServer } = await import(pathToFileURL(fromWeb.resolve('vite')).href);
  const take = (request, response) => {
    let body = '';
    request.on('data', (data) => (body += data));
    request.on('end', () => {
      report.take(JSON.parse(body));
      response.end();
    });
  };
  const server = await createServer({
    root: fileURLToPath(new URL('.', import.meta.url)),
    configFile: false,
    logLevel: 'warn',
    // As it is, so that its inner files are the same modules for whoever imports them by path.
    optimizeDeps: { noDiscovery: true, include: [], exclude: ['warena'] },
    server: { host, headers, port: 0, hmr: false, watch: null },
    plugins: [
      { name: 'report', configureServer: ({ middlewares }) => void middlewares.use('/report', take) },
    ],
  });
  await server.listen();
  return server;
}
