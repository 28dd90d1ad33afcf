/**
 * Workers are killed on the page, in the midst of their load: the others never stop, what the dead left
 * is shown and comes back, and another worker takes the place.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { VisitedPage, openLab } from './lab.mjs';

const WIDE = { width: 1440, height: 900 };
/**
 * Milliseconds after a kill within which a reap must be shown: 2 s that Chromium lets a busy worker
 * run on after `terminate()`, and 2 s.
 */
const PROMPT = 4000;

let lab;
before(async () => {
  lab = await openLab();
});
after(() => lab?.close());

/** Runs `visit` on a freshly opened page whose settings `set` has changed, with four workers at work. */
async function onRun(set, visit) {
  const page = await VisitedPage.open(lab, WIDE);
  try {
    await page.waitForPhase('idle');
    await set(page.tab);
    await page.press('start');
    await page.waitForPhase('running');
    await seeRise(page, [0, 1, 2, 3]);
    await visit(page);
  } finally {
    await page.close();
  }
}

/** Waits until the cycles of these workers have risen from now on. */
async function seeRise(page, numbers) {
  const before = await page.workers();
  let now;
  const rose = async () => {
    now = await page.workers();
    return (
      now.length === 4 &&
      numbers.every((number) => now[number].cycles > (before[number]?.cycles ?? 0))
    );
  };
  await page.waitFor(`the cycles of workers ${numbers} rise`, rose).catch((error) => {
    error.message += `, of the workers ${JSON.stringify({ before, now })}`;
    throw error;
  });
}

async function seeLife(page, number, life) {
  await page.tab.waitForSelector(`[data-worker="${number}"][data-life="${life}"]`);
}

/** Kills workers within one turn of the page's event loop, and waits until they are reaped. */
async function killAtOnce(page, numbers) {
  await page.tab.evaluate((which) => {
    for (const number of which) {
      document.querySelector(`[data-worker="${number}"] [data-action=kill]`).click();
    }
  }, numbers);
  for (const number of numbers) {
    await seeLife(page, number, 'reaped');
  }
}

async function killAndSeeReaped(page, number) {
  await killAtOnce(page, [number]);
  const title = await page.tab.innerText(`[data-worker="${number}"] .death-title`);
  const [, milliseconds] = title.match(/^Reaped ([\d.]+) ms after it was killed$/);
  assert.ok(Number(milliseconds) < PROMPT, title);
}

async function startAnother(page, number) {
  await page.act(number, 'another');
  await seeLife(page, number, 'living');
}

async function verify(page) {
  await page.press('verify');
  await page.waitForPhase('idle');
  await page.waitFor('a result', async () => (await page.tab.locator('[data-notice]').count()) > 0);
  assert.match(await page.notices(), /Verified/);
  assert.equal(await page.tab.locator('[data-notice=error]').count(), 0, await page.notices());
  assert.equal(await page.figure('violations'), 0);
}

async function freeAll(page) {
  const buttons = page.tab.locator('#deaths-list [data-action=free-left]:visible');
  while ((await buttons.count()) > 0) {
    await buttons.first().click();
    // The next frame shows what was freed.
    await page.tab.waitForTimeout(50);
  }
}

describe('a worker that is killed on the page', () => {
  test('stops nobody, is reaped, and another one takes its place and slot', () =>
    onRun(
      () => undefined,
      async (page) => {
        const { slot } = (await page.workers())[1];
        await killAndSeeReaped(page, 1);
        await page.waitForPhase('running');
        await seeRise(page, [0, 2, 3]);
        const [entry] = await page.deaths();
        assert.match(entry.text, /^Worker 1 slot \d+ · reaped in [\d.]+ ms/);
        assert.match(entry.text, /locks recovered: .+ · returned: (none|\d+ objects?, )/);
        assert.equal(entry.left, await page.found(1, 'left'));

        await startAnother(page, 1);
        await seeRise(page, [0, 1, 2, 3]);
        assert.equal((await page.workers())[1].slot, slot, 'the slot is used again');
        await verify(page);
      },
    ));

  test('leaves what its program had allocated, which can be freed while the others run', () =>
    onRun(
      (tab) => tab.selectOption('#pace', '1000'),
      async (page) => {
        // At this pace somebody holds objects whenever it is killed, but for the ends of its cycles.
        await killAtOnce(page, [0, 2]);
        const left = (await page.found(0, 'left')) + (await page.found(2, 'left'));
        assert.ok(left > 0, 'something is left');
        await verify(page);
        assert.match(await page.notices(), /that killed ones left/);
        await page.press('start');
        await seeRise(page, [0, 1, 2, 3]);
        await freeAll(page);
        const rest = (await page.deaths()).reduce((sum, death) => sum + death.left, 0);
        assert.equal(rest, 0);
        await page.waitForPhase('running');
        await verify(page);
        assert.doesNotMatch(await page.notices(), /that killed ones left/);
      },
    ));

  test('several quickly, then stop and start again', () =>
    onRun(
      () => undefined,
      async (page) => {
        await killAtOnce(page, [0, 1, 3]);
        await seeRise(page, [2]);
        assert.equal((await page.deaths()).length, 3);
        await page.press('stop');
        await page.waitForPhase('idle');
        await page.press('start');
        await seeRise(page, [0, 1, 2, 3]);
        await verify(page);
        await freeAll(page);
        await verify(page);
      },
    ));

  test('all of them: the run goes on, and whoever is started joins it', () =>
    onRun(
      () => undefined,
      async (page) => {
        await killAtOnce(page, [0, 1, 2, 3]);
        await page.waitForPhase('running');
        await startAnother(page, 2);
        await seeRise(page, [2]);
        await verify(page);
      },
    ));

  const loads = {
    'malloc-xfree': (tab) => tab.check('[value=malloc-xfree]'),
    'malloc-xfree, slowly': async (tab) => {
      await tab.check('[value=malloc-xfree]');
      await tab.selectOption('#pace', '1000');
      await tab.fill('#objects', '8');
    },
    ...Object.fromEntries(
      ['copies', 'threads'].map((share) => [
        `a trace, given as ${share}`,
        async (tab) => {
          await tab.check('[value=trace]');
          await tab.selectOption('#trace', 'wasm-opt');
          await tab.selectOption('#share', share);
        },
      ]),
    ),
  };
  for (const [name, set] of Object.entries(loads)) {
    test(`nobody waits for it: ${name}`, () =>
      onRun(set, async (page) => {
        await killAndSeeReaped(page, 1);
        // Long enough for every queue to fill, were it waited for.
        await page.tab.waitForTimeout(500);
        await seeRise(page, [0, 2, 3]);
        await startAnother(page, 1);
        await seeRise(page, [0, 1, 2, 3]);
        await killAndSeeReaped(page, 2);
        await verify(page);
        await page.press('start');
        await seeRise(page, [0, 1, 2, 3]);
        await freeAll(page);
        await verify(page);
        assert.doesNotMatch(await page.notices(), /that killed ones left/);
      }));
  }

  test('in the middle of a step, in slow motion', () =>
    onRun(
      async (tab) => {
        await tab.fill('#objects', '2');
        await tab.selectOption('#pace', '4');
      },
      async (page) => {
        await killAndSeeReaped(page, 3);
        await seeRise(page, [0, 1, 2]);
        await startAnother(page, 3);
        await seeRise(page, [3]);
        await verify(page);
      },
    ));

  test('while nobody runs, and before another number of workers', () =>
    onRun(
      () => undefined,
      async (page) => {
        await page.press('stop');
        await page.waitForPhase('idle');
        await killAndSeeReaped(page, 0);
        await page.tab.fill('#workers', '2');
        await page.press('start');
        await page.waitFor('two workers', async () => {
          const workers = await page.workers();
          return workers.length === 2 && workers.every(({ cycles }) => cycles > 0);
        });
        await verify(page);
        await page.press('reset');
        await page.tab.locator('#deaths').waitFor({ state: 'hidden' });
      },
    ));
});
