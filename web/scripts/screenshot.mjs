/**
 * Takes pictures of the running page: `npm run screenshot` writes the README's, and
 * `npm run screenshot -- FOLDER` writes one of every scene there, to be looked at.
 */
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { VisitedPage, openLab } from '../../tests/e2e/lab.mjs';

const WIDE = { width: 1440, height: 900 };
const NARROW = { width: 390, height: 844 };

/** Milliseconds that a run gets before its picture is taken. */
const RUN_TIME = 4000;
/** The README's picture may be at most this large, in bytes. */
const LARGEST = 300_000;

/** Setting the workload that always has objects on their way. */
const SHARING = [['check', '[value=malloc-xfree]']];

/** Kills two workers, of which the second is not reaped yet. */
async function kill(page) {
  await page.act(1, 'kill');
  await page.tab.waitForSelector('[data-life=reaped]');
  await page.act(2, 'kill');
  await page.tab.waitForTimeout(500);
}

/** Kills three workers, starts another one, and frees what one left. */
async function reap(page) {
  await page.act(0, 'kill');
  await page.act(1, 'kill');
  await page.act(2, 'kill');
  for (const worker of [0, 1, 2]) {
    await page.tab.waitForSelector(`[data-worker="${worker}"][data-life=reaped]`);
  }
  await page.act(0, 'another');
  await page.tab.waitForSelector('[data-worker="0"][data-life=living]');
  await page.tab.locator('#deaths-list [data-action=free-left]:visible').first().click();
  await page.tab.waitForTimeout(1000);
}

/**
 * Each scene: the window, the colour scheme, what to set before Start (nothing is set when idle), and
 * what to do while it runs.
 */
const SCENES = {
  idle: { viewport: WIDE, scheme: 'dark' },
  'malloc-free': { viewport: WIDE, scheme: 'dark', set: [] },
  'malloc-xfree': { viewport: WIDE, scheme: 'dark', set: SHARING },
  trace: { viewport: WIDE, scheme: 'dark', set: [['check', '[value=trace]']] },
  'slow-light': { viewport: WIDE, scheme: 'light', set: [['selectOption', '#pace', '100']] },
  huge: {
    viewport: WIDE,
    scheme: 'dark',
    set: [
      ['uncheck', '#mixed'],
      ['fill', '#size', '21'],
      ['fill', '#objects', '12'],
    ],
  },
  killed: { viewport: WIDE, scheme: 'dark', set: [], act: kill },
  'killed-light': { viewport: WIDE, scheme: 'light', set: [], act: kill },
  reaped: { viewport: WIDE, scheme: 'dark', set: SHARING, act: reap },
  'reaped-light': { viewport: WIDE, scheme: 'light', set: SHARING, act: reap },
  'narrow-killed-dark': { viewport: NARROW, scheme: 'dark', set: [], act: kill },
  'narrow-killed-light': { viewport: NARROW, scheme: 'light', set: [], act: kill },
  'narrow-reaped-dark': { viewport: NARROW, scheme: 'dark', set: SHARING, act: reap },
  'narrow-reaped-light': { viewport: NARROW, scheme: 'light', set: SHARING, act: reap },
  'narrow-dark': { viewport: NARROW, scheme: 'dark', set: [] },
  'narrow-light': { viewport: NARROW, scheme: 'light', set: SHARING },
};

async function take(lab, { viewport, scheme, set, act }, file) {
  const page = await VisitedPage.open(lab, viewport, (tab) =>
    tab.emulateMedia({ colorScheme: scheme }),
  );
  await page.waitForPhase('idle');
  if (set !== undefined) {
    for (const [action, ...values] of set) {
      await page.tab[action](...values);
    }
    await page.press('start');
    await page.waitForPhase('running');
    await page.tab.waitForTimeout(RUN_TIME);
  }
  await act?.(page);
  // Acting may have scrolled, and the head of the page sticks to the window.
  await page.tab.evaluate(() => scrollTo(0, 0));
  await page.tab.screenshot({ path: file, fullPage: viewport === NARROW });
  await page.close();
  console.log(file);
}

const [folder] = process.argv.slice(2);
const lab = await openLab();
try {
  if (folder === undefined) {
    const file = fileURLToPath(new URL('../docs/screenshot.png', import.meta.url));
    await take(lab, SCENES['malloc-free'], file);
    const { size } = await stat(file);
    if (size > LARGEST) {
      throw new Error(`${file} has ${size} bytes; the README's picture may have ${LARGEST}`);
    }
  } else {
    await mkdir(folder, { recursive: true });
    for (const [name, scene] of Object.entries(SCENES)) {
      await take(lab, scene, join(folder, `${name}.png`));
    }
  }
} finally {
  await lab.close();
}
