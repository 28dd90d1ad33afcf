import { describe, expect, test } from 'vitest';
import { DEFAULTS, PRESETS, presetOf, sameArena, sameWork } from '../src/model/settings.ts';
import { divideWork } from '../src/model/work.ts';

const noTrace = () => Promise.reject(new Error('no trace is needed'));

describe('settings', () => {
  test('start with the full allocator', () => {
    expect(presetOf(DEFAULTS.arena)).toBe('full');
    expect(presetOf(PRESETS['no-caches'])).toBe('no-caches');
    expect(presetOf({ ...DEFAULTS.arena, batch: 3 })).toBeUndefined();
  });

  test('of another pace are the same work, of another layer another arena', () => {
    expect(sameWork(DEFAULTS, { ...DEFAULTS, pace: 100 })).toBe(true);
    expect(sameWork(DEFAULTS, { ...DEFAULTS, objects: 1 })).toBe(false);
    expect(sameArena(DEFAULTS, { ...DEFAULTS, objects: 1 })).toBe(true);
    expect(sameArena(DEFAULTS, { ...DEFAULTS, arena: { ...DEFAULTS.arena, batch: 4 } })).toBe(false);
  });

  test('become one work a worker', async () => {
    const works = await divideWork({ ...DEFAULTS, workers: 3, size: 64 }, noTrace);
    expect(works).toHaveLength(3);
    works.forEach((work) =>
      expect(work).toMatchObject({ kind: 'malloc-free', objects: 128, bytes: 64 }),
    );
    expect(new Set(works.map((work) => 'held' in work && work.held)).size).toBe(3);
    const handed = await divideWork({ ...DEFAULTS, workload: 'malloc-xfree' }, noTrace);
    expect(new Set(handed.map((work) => 'exchange' in work && work.exchange)).size).toBe(1);
  });
});
