/** Deaths, on an arena that only keeps a set: what is left is known, and no object goes astray. */
import type { Arena, ReapReport, Snapshot, Verification } from 'warena';
import { expect, test } from 'vitest';
import { Deaths } from '../src/deaths.ts';
import { Meter } from '../src/model/meter.ts';
import { Stamps } from '../src/model/stamp.ts';
import type { HeldObject } from '../src/model/held_objects.ts';
import { initialState, type WorkerReading } from '../src/model/state.ts';
import type { Crew } from '../src/workers/crew.ts';

const found = {
  agent: 7,
  slots: 1,
  objects: 3,
  bytes: 96,
  recoveredHeap: true,
  recoveredTransfers: 0,
  listedBlocks: 5,
  reclaimedChunks: 0,
};

const proof = { blocks: 9, chunks: 1, hugeBlocks: 0, ownedBytes: 2 ** 20 };

/** A worker that holds two stamped objects, on an arena that has three. */
function stage() {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
  const live = new Set([1024, 2048, 4096]);
  let hear: (report: ReapReport) => void = () => undefined;
  const arena = {
    memory,
    on: (_: string, listener: typeof hear) => (hear = listener),
    objects: () => [...live].map((pointer) => ({ pointer, bytes: 64 })),
    free: (pointer: number) => expect(live.delete(pointer)).toBe(true),
  };
  const held: HeldObject[] = [1024, 2048].map((pointer, sequence) => ({
    pointer,
    bytes: 64,
    owner: 0,
    sequence,
  }));
  const stamps = new Stamps(memory);
  held.forEach(({ pointer, bytes, owner, sequence }) => stamps.write(pointer, bytes, owner, sequence));
  const ended: number[] = [];
  const crew = {
    end: (worker: number) => ended.push(worker),
    takeObjects: () => held.splice(0),
    heldObjects: () => held,
  } as unknown as Crew;
  const state = initialState();
  const worker: WorkerReading = {
    number: 0,
    slot: 1,
    life: 'living',
    death: undefined,
    tally: { allocations: 0, frees: 0, cycles: 0, violations: 0, outOfMemory: 0 },
    operations: new Meter(),
  };
  state.workers = [worker];
  const sample = () => ({ workers: [] }) as unknown as Snapshot;
  const deaths = new Deaths(state, arena as unknown as Arena, sample, () => undefined);
  const audit = () => deaths.audit(crew, { ...proof, allocatedObjects: live.size } as Verification);
  return { live, state, worker, crew, deaths, audit, ended, memory, reap: () => hear(found) };
}

test('a kill is reaped, and leaves what the worker held and what it had in hand', async () => {
  const { live, state, worker, crew, deaths, audit, ended, reap } = stage();
  deaths.kill(crew, worker);
  expect([worker.life, ended]).toEqual(['killed', [0]]);
  reap();
  await deaths.settled();
  expect(worker.life).toBe('reaped');
  const [death] = state.deaths;
  expect(death?.reap?.found).toMatchObject({ objects: 3, recoveredHeap: true });
  expect(death?.left.map(({ pointer }) => pointer)).toEqual([1024, 2048]);
  deaths.free(death!);
  expect([...live]).toEqual([4096]);
  expect(state.caught).toEqual([]);
  expect(audit().kind).toBe('good');
  expect(state.caught.map(({ pointer }) => pointer)).toEqual([4096]);
  deaths.freeCaught();
  expect([live.size, state.violationsInLeft]).toEqual([0, 0]);
  expect(audit().kind).toBe('good');
});

test('an object that nobody holds is an error when no kill explains it', () => {
  expect(stage().audit()).toMatchObject({ kind: 'error', title: 'Objects lost' });
});

test('a stamp that was overwritten since is counted', async () => {
  const { state, worker, crew, deaths, memory, reap } = stage();
  deaths.kill(crew, worker);
  reap();
  await deaths.settled();
  new Int32Array(memory.buffer)[1024 / 4] = 0;
  deaths.free(state.deaths[0]!);
  expect(state.violationsInLeft).toBe(1);
  expect(state.notices[0]?.title).toBe('Left by worker 0 · stamp violation');
});
