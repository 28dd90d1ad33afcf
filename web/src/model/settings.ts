/**
 * What can be set on the page: the workload, how it runs, and the options of the arena it runs on.
 * Two settings describe the same arena when their `arena` parts are equal.
 */
import type { ArenaOptions } from 'warena';
import type { TraceName } from './trace_catalogue.ts';

export type WorkloadName = 'malloc-free' | 'malloc-xfree' | 'trace';

/** How a trace is given to the workers: each replays all of it, or its threads are spread over them. */
export type TraceShare = 'copies' | 'threads';

export interface Settings {
  workload: WorkloadName;
  /** Producers, each in its own Web Worker. */
  workers: number;
  /** Objects a cycle; for a trace, operations a cycle. */
  objects: number;
  /** Bytes an object, or `mixed` for sizes drawn anew for each object. */
  size: number | 'mixed';
  /** Allocations and frees a second in each worker; 0 is full speed. */
  pace: number;
  trace: TraceName;
  share: TraceShare;
  arena: Required<Omit<ArenaOptions, 'maximumWorkers' | 'maximumChunks'>>;
}

export const WORKERS = { least: 1, most: 8 };
export const OBJECTS = { least: 1, most: 256 };
/** Mixed sizes are drawn around powers of two from 16 B to 64 KiB. */
export const MIXED_LOG2 = { least: 4, most: 16 };

export const DEFAULTS: Settings = {
  workload: 'malloc-free',
  workers: 4,
  objects: 128,
  size: 'mixed',
  pace: 0,
  trace: 'cc1',
  share: 'copies',
  arena: {
    maximumBytes: 256 * 2 ** 20,
    cachedOrders: 8,
    capacity: 16,
    burstCapacity: 1024,
    batch: 8,
    transferCapacity: 64,
  },
};

export type PresetName = 'full' | 'spill-only' | 'no-caches';

type Layers = Omit<Settings['arena'], 'maximumBytes'>;

/** The allocator as it is meant, and the two ablations that it is measured against. */
export const PRESETS: Record<PresetName, Layers> = {
  full: { cachedOrders: 8, capacity: 16, burstCapacity: 1024, batch: 8, transferCapacity: 64 },
  'spill-only': {
    cachedOrders: 8,
    capacity: 16,
    burstCapacity: 1024,
    batch: 8,
    transferCapacity: 0,
  },
  'no-caches': {
    cachedOrders: 0,
    capacity: 16,
    burstCapacity: 1024,
    batch: 8,
    transferCapacity: 0,
  },
};

/** The preset that `arena` is, if it is one. */
export function presetOf(arena: Layers): PresetName | undefined {
  const names = Object.keys(PRESETS) as PresetName[];
  return names.find((name) => {
    const preset = PRESETS[name];
    return (Object.keys(preset) as (keyof Layers)[]).every((key) => preset[key] === arena[key]);
  });
}

/** Whether two settings can share one arena. */
export function sameArena(left: Settings, right: Settings): boolean {
  return JSON.stringify(left.arena) === JSON.stringify(right.arena);
}

/** Whether two settings give every worker the same work, whatever the pace. */
export function sameWork(left: Settings, right: Settings): boolean {
  return JSON.stringify({ ...left, pace: 0 }) === JSON.stringify({ ...right, pace: 0 });
}
