/** Deaths in words, and that a report finds the worker it is about. */
import type { Arena, ReapReport, Reaped, Snapshot } from 'warena';
import { expect, test } from 'vitest';
import { DeathWatch } from '../src/death_watch.ts';
import { locksLabel, millisecondsLabel, objectsLabel } from '../src/model/death.ts';

const nothing: Reaped = {
  slots: 1,
  objects: 0,
  bytes: 0,
  recoveredHeap: false,
  recoveredTransfers: 0,
  listedBlocks: 0,
  reclaimedChunks: 0,
};

test('labels', () => {
  expect(locksLabel(nothing)).toBe('none held');
  expect(locksLabel({ ...nothing, recoveredHeap: true, recoveredTransfers: 1 })).toBe(
    'the heap’s, 1 of transfer caches',
  );
  expect(objectsLabel(0, 0)).toBe('none');
  expect(objectsLabel(1, 1536)).toBe('1 object, 1.5 KiB');
  expect(objectsLabel(2048, 2 ** 20)).toBe('2,048 objects, 1 MiB');
  expect([millisecondsLabel(4.27), millisecondsLabel(42.7)]).toEqual(['4.3 ms', '43 ms']);
});

test('a report is about the awaited worker whose slot is free', async () => {
  let hear: (report: ReapReport) => void = () => undefined;
  const arena = { on: (_: string, listener: typeof hear) => (hear = listener) };
  const attached = [true, true, true];
  const sample = () =>
    ({ workers: attached.map((is, slot) => ({ slot, attached: is })) }) as Snapshot;
  const watch = new DeathWatch(arena as unknown as Arena, sample);
  const [first, second] = [watch.reaped(1), watch.reaped(2)];
  attached[2] = false;
  hear({ ...nothing, agent: 12, objects: 3 });
  expect((await second).objects).toBe(3);
  attached[1] = false;
  hear({ ...nothing, agent: 11, objects: 4 });
  expect((await first).objects).toBe(4);
});
