/**
 * All that the page shows, without anything of the DOM: the views read it, the laboratory writes it.
 */
import type { Snapshot } from 'warena';
import { ChunkWatch } from './chunk_watch.ts';
import type { Tally } from './control_block.ts';
import type { ErrorReport } from './error_report.ts';
import { Meter } from './meter.ts';
import { DEFAULTS, type Settings } from './settings.ts';

/** What the laboratory is doing. */
export type Phase =
  /** The arena is being made; nothing can be done yet. */
  | 'opening'
  /** The arena is there and no worker runs. */
  | 'idle'
  /** Workers are being started or given new work. */
  | 'starting'
  | 'running'
  /** Workers have been told to stop. */
  | 'stopping'
  | 'verifying'
  /** There is no arena; the error says why. */
  | 'failed';

/** One worker as the page shows it. */
export interface WorkerReading {
  number: number;
  /** Its slot in the arena. */
  slot: number;
  tally: Tally;
  /** Allocations and frees a second. */
  operations: Meter;
}

/** Something that happened and stays on the page until the next start. */
export interface Notice {
  kind: 'good' | 'warning' | 'error';
  title: string;
  message: string;
}

export interface State {
  phase: Phase;
  settings: Settings;
  watch: ChunkWatch;
  snapshot: Snapshot | undefined;
  workers: WorkerReading[];
  /** Of all workers together, in operations a second. */
  operations: Meter;
  splits: Meter;
  merges: Meter;
  /** Frames a second that the page draws. */
  framesPerSecond: number;
  notices: Notice[];
}

/** The state before anything has happened. */
export function initialState(): State {
  return {
    phase: 'opening',
    settings: structuredClone(DEFAULTS),
    watch: new ChunkWatch(),
    snapshot: undefined,
    workers: [],
    operations: new Meter(),
    splits: new Meter(),
    merges: new Meter(),
    framesPerSecond: 0,
    notices: [],
  };
}

/** What all workers have done together. */
export function totals(workers: readonly WorkerReading[]): Tally {
  const sum: Tally = { allocations: 0, frees: 0, cycles: 0, violations: 0, outOfMemory: 0 };
  for (const { tally } of workers) {
    sum.allocations += tally.allocations;
    sum.frees += tally.frees;
    sum.cycles += tally.cycles;
    sum.violations += tally.violations;
    sum.outOfMemory += tally.outOfMemory;
  }
  return sum;
}

/** Objects that all workers together have allocated and not freed; their counters are 32 bits wide. */
export function objectsHeld(workers: readonly WorkerReading[]): number {
  const { allocations, frees } = totals(workers);
  return (allocations - frees) >>> 0;
}

/** A notice for an error. */
export function errorNotice({ title, message }: ErrorReport): Notice {
  return { kind: 'error', title, message };
}
