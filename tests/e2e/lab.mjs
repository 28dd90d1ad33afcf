/**
 * What the tests of the page stand on: Vite serving web/ on a free port, Chromium, and the page as
 * a person sees it. Everything is read from what the page shows: text, ARIA and data attributes.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const web = fileURLToPath(new URL('../../web/', import.meta.url));
// Vite and Playwright are packages of web/, the one place where npm packages are pinned.
const fromWeb = createRequire(join(web, 'package.json'));
const { createServer } = await import(pathToFileURL(fromWeb.resolve('vite')).href);
const { chromium } = fromWeb('playwright-core');

/** Milliseconds that anything on the page may take; generous, as several suites may share a machine. */
const PATIENCE = 30_000;

function findChromium() {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  const found =
    process.env.WARENA_CHROMIUM ??
    names.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);
  if (found === undefined) {
    throw new Error('no Chromium on the PATH: cargo xtask setup installs it');
  }
  return found;
}

/** Serves web/ and starts a browser; `close` ends both. */
export async function openLab() {
  const server = await createServer({
    root: web,
    logLevel: 'warn',
    // A file that changes meanwhile must not reload the page under a test.
    server: { host: '127.0.0.1', port: 0, hmr: false, watch: null },
  });
  await server.listen();
  const browser = await chromium.launch({
    executablePath: findChromium(),
    args: ['--no-sandbox'],
  });
  const { port } = server.httpServer.address();
  return {
    url: `http://127.0.0.1:${port}/`,
    browser,
    close: async () => {
      await browser.close();
      await server.close();
    },
  };
}

/** The page in a tab of its own; fails on any error that nobody on the page caught. */
export class VisitedPage {
  #page;
  #uncaught = [];

  constructor(page) {
    this.#page = page;
    page.setDefaultTimeout(PATIENCE);
    page.on('pageerror', (error) => this.#uncaught.push(error.message));
  }

  /** Opens the page; `prepare` may change what the tab does before it loads. */
  static async open({ browser, url }, viewport, prepare = async () => {}) {
    const tab = await browser.newPage({ viewport });
    const page = new VisitedPage(tab);
    await prepare(tab);
    await tab.goto(url);
    return page;
  }

  get tab() {
    return this.#page;
  }

  /** Closes the tab; throws if the page had an uncaught error. */
  async close() {
    await this.#page.close();
    if (this.#uncaught.length > 0) {
      throw new Error(`uncaught on the page: ${this.#uncaught.join('; ')}`);
    }
  }

  async press(button) {
    await this.#page.click(`#${button}`);
  }

  async waitForPhase(...phases) {
    await this.#page.waitForSelector(phases.map((phase) => `#phase[data-phase="${phase}"]`).join());
  }

  /** Waits until `condition`, called again and again, gives something true, and returns that. */
  async waitFor(what, condition) {
    const end = Date.now() + PATIENCE;
    for (;;) {
      const result = await condition();
      if (result) {
        return result;
      }
      if (Date.now() > end) {
        throw new Error(`waited in vain: ${what}; the page says: ${await this.notices()}`);
      }
      await this.#page.waitForTimeout(50);
    }
  }

  /** A headline figure or a counter of the heap, as a number. */
  async figure(name) {
    const selector = `[data-figure="${name}"], #heap [data-counter="${name}"]`;
    return Number(await this.#page.getAttribute(selector, 'data-value'));
  }

  /** Bytes in a state, as the legend says. */
  async bytesOf(state) {
    return Number(await this.#page.getAttribute(`[data-bytes-of="${state}"]`, 'data-value'));
  }

  /** Of each worker: operations a second, cycles done, and objects in each order of its cache. */
  async workers() {
    return this.#page.$$eval('[data-worker]', (cards) =>
      cards.map((card) => ({
        operations: Number(card.querySelector('output').dataset.value),
        cycles: Number(card.querySelector('[data-counter=cycles]').dataset.value),
        life: card.dataset.life,
        slot: Number.parseInt(card.querySelector('h3 small').textContent.slice('slot '.length), 10),
        fill: [...card.querySelectorAll('[role=meter]')].map((bar) =>
          Number(bar.getAttribute('aria-valuenow')),
        ),
      })),
    );
  }

  /** Presses a button of a worker's card: `kill`, `another` or `free-left`. */
  async act(worker, action) {
    await this.#page.click(`[data-worker="${worker}"] [data-action="${action}"]`);
  }

  /** A counter on the card of a worker that was killed. */
  async found(worker, counter) {
    const selector = `[data-worker="${worker}"] .death [data-counter="${counter}"]`;
    return Number(await this.#page.getAttribute(selector, 'data-value'));
  }

  /** The log of deaths, newest first: what each says, and how many objects are left of it. */
  async deaths() {
    return this.#page.$$eval('#deaths-list > li', (entries) =>
      entries.map((entry) => ({
        kind: entry.dataset.death,
        text: entry.innerText,
        left: Number(entry.querySelector('[data-value]').dataset.value),
      })),
    );
  }

  /** Objects in each order of the transfer cache. */
  async transfer() {
    return this.#page.$$eval('#transfer [role=meter]', (bars) =>
      bars.map((bar) => Number(bar.getAttribute('aria-valuenow'))),
    );
  }

  /** The pixels of all chunks, as one string that differs when a pixel does. */
  async pixels() {
    return this.#page.$$eval('#map canvas', (canvases) =>
      canvases.map((canvas) => canvas.toDataURL()).join(),
    );
  }

  /** How many pictures of chunks have been painted. */
  async pictures() {
    return this.#page.$$eval('#map canvas', (canvases) =>
      canvases.reduce((sum, canvas) => sum + Number(canvas.dataset.pictures), 0),
    );
  }

  async notices() {
    return this.#page.innerText('#notices');
  }

  /** Whether anything sticks out of the window sideways. */
  async overflows() {
    return this.#page.evaluate(
      () => document.documentElement.scrollWidth > document.documentElement.clientWidth,
    );
  }
}
