// What it costs a worker to be watched: the visualiser itself, served as to its visitors, with one of
// its workers that allocates and frees lists of objects, longer than a cache holds, so that it hits
// and misses.
//
// Watched, the page does what it does once a frame: it takes a snapshot, compares it with the one
// before, draws and counts. Unwatched it is given no frames. The two take turns, round by round, and
// what the worker did meanwhile is read from the word where it publishes that.

import { openLab, VisitedPage } from '../../tests/e2e/lab.mjs';

const ALLOCS = 256;
const SIZE = 64;
/** Milliseconds before and in a round. */
const SETTLE = 100;
const LENGTH = 400;
/** The word of the page's control block with the allocations of its first worker. */
const ALLOCATIONS = 16;

/** The rows of both, each a median of so many rounds. */
export async function watched(rounds) {
  const lab = await openLab();
  try {
    const page = await VisitedPage.open(lab, { width: 1280, height: 900 }, (tab) =>
      tab.addInitScript(lend),
    );
    await page.waitForPhase('idle');
    await page.tab.fill('#workers', '1');
    await page.tab.fill('#objects', String(ALLOCS));
    await page.tab.uncheck('#mixed');
    await page.tab.fill('#size', String(Math.log2(SIZE)));
    await page.tab.selectOption('#pace', '0');
    await page.press('start');
    await page.waitForPhase('running');
    const fronts = { watched: [], unwatched: [] };
    for (let round = 0; round < rounds; round += 1) {
      for (const [front, samples] of Object.entries(fronts)) {
        samples.push(await sample(page.tab, front === 'watched'));
      }
    }
    await page.tab.evaluate(() => globalThis.lent.giveFrames(true));
    await page.press('stop');
    await page.waitForPhase('idle');
    await page.press('verify');
    await page.tab.waitForSelector('[data-notice]');
    const said = await page.notices();
    if (!said.includes('Verified') || (await page.figure('violations')) !== 0) {
      throw new Error(`the arena is not in order: ${said}`);
    }
    await page.close();
    return Object.entries(fronts).map(([front, samples]) => row(front, samples));
  } finally {
    await lab.close();
  }
}

/** ns for a pair, and the pairs, of one round. */
async function sample(tab, frames) {
  await tab.evaluate((frames) => globalThis.lent.giveFrames(frames), frames);
  await tab.waitForTimeout(SETTLE);
  const read = () =>
    tab.evaluate((word) => {
      const words = new Int32Array(globalThis.lent.control);
      const { frames } = globalThis.lent;
      return { frames, at: performance.now(), pairs: Atomics.load(words, word) >>> 0 };
    }, ALLOCATIONS);
  const before = await read();
  await tab.waitForTimeout(LENGTH);
  const after = await read();
  // The counter wraps.
  const pairs = (after.pairs - before.pairs) >>> 0;
  const seen = after.frames - before.frames;
  if (pairs === 0 || (seen > 0) !== frames) {
    throw new Error(`in a round ${frames ? 'with' : 'without'} frames: ${seen} frames, ${pairs} pairs`);
  }
  return { pairs, ns: ((after.at - before.at) * 1e6) / pairs };
}

function row(front, samples) {
  const all = samples.map(({ ns }) => Math.round(ns * 100) / 100).sort((left, right) => left - right);
  const middle = (all[(all.length - 1) >> 1] + all[all.length >> 1]) / 2;
  return {
    bench: 'watched',
    allocator: 'warena',
    config: 'full',
    host: 'chrome',
    producers: 1,
    allocs: ALLOCS,
    size: SIZE,
    front,
    alloc_ns: null,
    free_ns: null,
    pair_ns: middle,
    cpu_ns_per_pair: null,
    ops: 2 * samples.reduce((sum, { pairs }) => sum + pairs, 0),
    rounds: samples.length,
    spread: { alloc_ns: null, free_ns: null, pair_ns: [all[0], all.at(-1)], cpu_ns_per_pair: null },
  };
}

/** On the page, before its own code: lends its frames, and the control block that its worker is given. */
function lend() {
  const lent = { control: undefined, frames: 0 };
  globalThis.lent = lent;
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message, ...rest) {
    lent.control = message?.command?.control ?? lent.control;
    return post.call(this, message, ...rest);
  };
  const request = globalThis.requestAnimationFrame.bind(globalThis);
  let given = true;
  const waiting = [];
  const counted = (callback) => (time) => {
    lent.frames += 1;
    callback(time);
  };
  globalThis.requestAnimationFrame = (callback) =>
    given ? request(counted(callback)) : waiting.push(callback);
  lent.giveFrames = (give) => {
    given = give;
    if (given) {
      waiting.splice(0).forEach((callback) => request(counted(callback)));
    }
  };
}
