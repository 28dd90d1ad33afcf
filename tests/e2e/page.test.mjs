/** The page, as a person uses it: every workload runs on real workers, and the arena verifies. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { VisitedPage, openLab } from './lab.mjs';

const WIDE = { width: 1440, height: 900 };
const NARROW = { width: 390, height: 844 };

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());

/** Runs `visit` on a freshly opened page. */
async function onPage(viewport, visit) {
  const page = await VisitedPage.open(lab, viewport);
  try {
    await page.waitForPhase('idle');
    await visit(page);
  } finally {
    await page.close();
  }
}

const sum = (numbers) => numbers.reduce((total, each) => total + each, 0);

/** Waits until every one of `count` workers has run cycles. */
async function seeWorkersRun(page, count) {
  return page.waitFor(`${count} workers run`, async () => {
    const workers = await page.workers();
    const run = workers.every(({ operations, cycles }) => operations > 0 && cycles > 0);
    return workers.length === count && run && workers;
  });
}

/** Stops, lets the arena verify itself, and sees that no stamp was violated. */
async function stopAndVerify(page) {
  await page.press('stop');
  await page.waitForPhase('idle');
  await page.press('verify');
  await page.tab.waitForSelector('[data-notice]');
  assert.match(await page.notices(), /Verified/);
  assert.equal(await page.tab.locator('[data-notice=error]').count(), 0);
  assert.equal(await page.figure('violations'), 0);
}

describe('the page', () => {
  test('runs four workers at the first click, shows the heap live, and verifies', () =>
    onPage(WIDE, async (page) => {
      await page.press('start');
      await page.waitForPhase('running');
      await seeWorkersRun(page, 4);
      assert.ok((await page.figure('operations')) > 0, 'operations a second');

      const before = await page.pixels();
      await page.waitFor('the map changes', async () => (await page.pixels()) !== before);
      const painted = await page.pictures();
      await page.waitFor('pictures are painted', async () => (await page.pictures()) > painted + 10);

      await page.waitFor('every cache fills', async () =>
        (await page.workers()).every(({ fill }) => fill.length === 8 && sum(fill) > 0),
      );
      assert.ok((await page.figure('splits')) > 0, 'splits');
      assert.ok((await page.figure('merges')) > 0, 'merges');
      assert.ok((await page.figure('frames')) > 0, 'frames a second');
      assert.equal(await page.figure('violations'), 0);
      await stopAndVerify(page);

      const owned = await page.figure('owned');
      const states = [
        'allocated',
        'cached',
        'in transfer',
        'deferred',
        'free',
        'free, never used',
        'metadata',
      ];
      const bytes = await Promise.all(states.map((state) => page.bytesOf(state)));
      assert.equal(sum(bytes), owned, 'the states add up to what is owned');
    }));

  test('malloc-xfree moves objects through the transfer caches', () =>
    onPage(WIDE, async (page) => {
      await page.tab.check('[value=malloc-xfree]');
      await page.press('start');
      await seeWorkersRun(page, 4);
      await page.waitFor('transfer caches fill', async () => sum(await page.transfer()) > 0);
      await stopAndVerify(page);
    }));

  for (const share of ['copies', 'threads']) {
    test(`replays a trace, given to the workers as ${share}`, () =>
      onPage(WIDE, async (page) => {
        await page.tab.check('[value=trace]');
        await page.tab.selectOption('#trace', 'wasm-opt');
        await page.tab.selectOption('#share', share);
        await page.press('start');
        await seeWorkersRun(page, 4);
        await stopAndVerify(page);
      }));
  }

  test('steps one cycle in each worker', () =>
    onPage(WIDE, async (page) => {
      for (const cycles of [1, 2]) {
        await page.press('step');
        await page.waitFor(`${cycles} cycles in each worker`, async () => {
          const workers = await page.workers();
          return workers.length === 4 && workers.every((worker) => worker.cycles === cycles);
        });
        await page.waitForPhase('idle');
      }
    }));

  test('reset makes a new arena, which runs again', () =>
    onPage(WIDE, async (page) => {
      await page.press('start');
      await seeWorkersRun(page, 4);
      await page.press('reset');
      await page.waitFor('an empty stage', async () => (await page.workers()).length === 0);
      await page.waitForPhase('idle');
      assert.equal(await page.bytesOf('allocated'), 0);
      await page.press('start');
      await seeWorkersRun(page, 4);
      await stopAndVerify(page);
    }));

  test('takes new settings while it runs: workers, size, pace, layers', () =>
    onPage(WIDE, async (page) => {
      await page.tab.selectOption('#pace', '1000');
      await page.press('start');
      await seeWorkersRun(page, 4);
      await page.tab.fill('#workers', '2');
      await page.tab.uncheck('#mixed');
      await page.tab.fill('#size', '6');
      await seeWorkersRun(page, 2);
      await page.tab.selectOption('#preset', 'no-caches');
      await page.waitFor('workers without caches', async () => {
        const workers = await page.workers();
        return workers.length === 2 && workers.every(({ fill }) => fill.length === 0);
      });
      await seeWorkersRun(page, 2);
      await page.tab.selectOption('#pace', '0');
      await page.waitFor('full speed', async () => (await page.figure('operations')) > 10_000);
      await stopAndVerify(page);
    }));

  test('says which field is wrong before it touches a run', () =>
    onPage(WIDE, async (page) => {
      await page.press('start');
      await seeWorkersRun(page, 4);
      await page.tab.fill('#batch', '17');
      await page.tab.locator('#batch').blur();
      assert.equal(await page.tab.locator('#batch:invalid').count(), 1);
      await page.waitForPhase('running');
      await page.tab.fill('#batch', '16');
      await page.tab.locator('#batch').blur();
      assert.equal(await page.tab.locator('#settings :invalid').count(), 0);
      await seeWorkersRun(page, 4);
      await stopAndVerify(page);
    }));

  test('shows a full memory as such, and goes on', () =>
    onPage(WIDE, async (page) => {
      await page.tab.selectOption('#maximumBytes', '8388608');
      await page.tab.uncheck('#mixed');
      await page.tab.fill('#size', '16');
      await page.tab.fill('#objects', '256');
      await page.press('start');
      await seeWorkersRun(page, 4);
      await page.waitFor('out of memory', async () => (await page.figure('out-of-memory')) > 0);
      assert.match(await page.notices(), /out of memory/i);
      await page.press('stop');
      await page.waitForPhase('idle');
      assert.equal(await page.figure('violations'), 0);
    }));

  test('shows objects larger than a chunk as tiles of their own', () =>
    onPage(WIDE, async (page) => {
      await page.tab.fill('#workers', '2');
      await page.tab.fill('#objects', '8');
      await page.tab.uncheck('#mixed');
      await page.tab.fill('#size', '21');
      assert.equal(await page.tab.locator('#huge').isVisible(), false);
      await page.tab.selectOption('#pace', '20');
      await page.press('start');
      await seeWorkersRun(page, 2);
      const caption = page.tab.locator('#huge figcaption').first();
      assert.match(await caption.innerText(), /^0x[0-9a-f]{3}00000 · 2 MiB$/);
      await page.waitFor('objects of 2 MiB', async () => (await page.bytesOf('allocated')) >= 4 << 20);
      await stopAndVerify(page);
      const tiles = await page.tab.locator('#huge figure').count();
      assert.equal(await page.bytesOf('allocated'), tiles * (2 << 20));
      await page.press('reset');
      await page.tab.locator('#huge').waitFor({ state: 'hidden' });
    }));

  test('names the block under the pointer and under the keyboard', () =>
    onPage(WIDE, async (page) => {
      await page.press('step');
      await page.waitFor('a chunk', async () => (await page.pictures()) > 0);
      await page.waitForPhase('idle');
      await page.tab.hover('#map canvas >> nth=0', { position: { x: 4, y: 4 } });
      const block = /0x[0-9a-f]{8} · \d+ (B|KiB|MiB) · order \d+ · (free|free, never used|allocated|cached|in transfer|metadata)/;
      assert.match(await page.tab.innerText('#tooltip'), block);
      await page.tab.focus('#map');
      await page.tab.keyboard.press('ArrowRight');
      const first = await page.tab.innerText('#tooltip');
      await page.tab.keyboard.press('ArrowRight');
      const second = await page.tab.innerText('#tooltip');
      assert.match(second, block);
      assert.notEqual(first, second);
    }));

  test('fits a narrow window, at rest and running', () =>
    onPage(NARROW, async (page) => {
      assert.equal(await page.overflows(), false);
      await page.press('start');
      await seeWorkersRun(page, 4);
      assert.equal(await page.overflows(), false);
    }));

  test('without the isolation headers, names both of them', async () => {
    const page = await VisitedPage.open(lab, WIDE, (tab) =>
      tab.route('**/*', async (route) => {
        const response = await route.fetch();
        const headers = response.headers();
        delete headers['cross-origin-opener-policy'];
        delete headers['cross-origin-embedder-policy'];
        await route.fulfill({ response, headers });
      }),
    );
    try {
      await page.waitForPhase('failed');
      const notices = await page.notices();
      assert.match(notices, /NotIsolated/);
      assert.match(notices, /Cross-Origin-Opener-Policy: same-origin/);
      assert.match(notices, /Cross-Origin-Embedder-Policy: require-corp/);
    } finally {
      await page.close();
    }
  });
});
