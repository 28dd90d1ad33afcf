import { describe, expect, test } from 'vitest';
import { Load } from '../src/workers/load.ts';

const neverFails = () => undefined;

/** A run that lasts until `end` is called. */
function run(): { promise: Promise<void>; end: () => void } {
  let end: () => void = neverFails;
  const promise = new Promise<void>((resolve) => (end = resolve));
  return { promise, end };
}

/** Whether a promise is settled after all that is due now has happened. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(
    () => (settled = true),
    () => (settled = true),
  );
  await new Promise((resolve) => setTimeout(resolve));
  return settled;
}

describe('a load', () => {
  test('of so many cycles is over when all who joined have left', async () => {
    const load = new Load(1, neverFails);
    const [first, second] = [run(), run()];
    load.join(first.promise);
    const over = load.over();
    load.join(second.promise);
    first.end();
    expect(await isSettled(over)).toBe(false);
    second.end();
    await over;
  });

  test('without an end goes on without anybody in it until it is stopped', async () => {
    const load = new Load(Number.POSITIVE_INFINITY, neverFails);
    const over = load.over();
    load.join(Promise.resolve());
    expect(await isSettled(over)).toBe(false);
    const last = run();
    load.join(last.promise);
    load.stop();
    expect(await isSettled(over)).toBe(false);
    last.end();
    await over;
  });

  test('tells of a failure at once, and throws it when all have left', async () => {
    let told = 0;
    const load = new Load(1, () => (told += 1));
    const other = run();
    load.join(Promise.reject(new Error('broken')));
    load.join(other.promise);
    const over = load.over();
    expect(await isSettled(over)).toBe(false);
    expect(told).toBe(1);
    other.end();
    await expect(over).rejects.toThrow('broken');
  });
});
