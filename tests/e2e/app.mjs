/** A small Vite app with no configuration but the two headers, that uses the installed package. */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const web = fileURLToPath(new URL('../../web/', import.meta.url));
const fromWeb = createRequire(join(web, 'package.json'));
const vite = await import(pathToFileURL(fromWeb.resolve('vite')).href);
const { chromium } = fromWeb('playwright-core');

/** The folder of the package as it is installed. */
export const installed = join(web, 'node_modules/warena');

const host = '127.0.0.1';
const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};
/** Vite's preview takes no port 0: the next free one from here on. */
const PREVIEW_PORT = 5190;
/** Milliseconds that a page may take: the dev server bundles the package first. */
const PATIENCE = 30_000;

export class App {
  #options;
  #browser;

  /** Writes the files into a fresh folder; `main.js` is what the page runs. `flags` are Chromium's. */
  static async make(files, flags = []) {
    const app = new App();
    const root = mkdtempSync(join(tmpdir(), 'warena-app-'));
    app.#options = { root, configFile: false, logLevel: 'warn' };
    cpSync(installed, join(root, 'node_modules/warena'), { recursive: true });
    const page = '<!doctype html><title></title><script type="module" src="./main.js"></script>';
    for (const [name, text] of Object.entries({ 'index.html': page, ...files })) {
      writeFileSync(join(root, name), text);
    }
    app.#browser = await chromium.launch({
      executablePath: process.env.WARENA_CHROMIUM ?? '/usr/bin/chromium',
      args: ['--no-sandbox', ...flags],
    });
    return app;
  }

  async close() {
    await this.#browser.close();
    rmSync(this.#options.root, { recursive: true });
  }

  /** What the page says when the dev server serves it. */
  async develop() {
    const server = await vite.createServer({
      ...this.#options,
      server: { host, headers, port: 0, hmr: false, watch: null },
    });
    await server.listen();
    return this.#visit(server);
  }

  /** What the page says when it was built; `isolated: false` leaves the headers out. */
  async build({ isolated = true } = {}) {
    await vite.build(this.#options);
    const server = await vite.preview({
      ...this.#options,
      preview: { host, port: PREVIEW_PORT, ...(isolated ? { headers } : {}) },
    });
    return this.#visit(server);
  }

  /** The title that the page gives itself; throws the first error that nobody caught there. */
  async #visit(server) {
    const page = await this.#browser.newPage();
    const failed = new Promise((_, reject) => page.on('pageerror', reject));
    const titled = async () => {
      await page.goto(`http://${host}:${server.httpServer.address().port}/`);
      await page.waitForFunction(() => document.title !== '', null, { timeout: PATIENCE });
      return page.title();
    };
    try {
      return await Promise.race([titled(), failed]);
    } finally {
      await page.close();
      await server.close();
    }
  }
}
