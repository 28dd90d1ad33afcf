/**
 * All that the page shows, without anything of the DOM: the views read it, the laboratory writes it.
 */
import type { ArenaObject, Snapshot } from 'warena';
import { ChunkWatch } from './chunk_watch.ts';
import type { Tally } from './control_block.ts';
import type { Death } from './death.ts';
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

/** The phases in which a worker can be killed, or another one started in its place. */
export const AT_WORK: readonly Phase[] = ['idle', 'running', 'stopping'];

/** Whether there is a worker. */
export type Life =
  | 'living'
  /** It was terminated, and the arena has not taken in yet what it left. */
  | 'killed'
  /** All is taken in, and another one can be started in its place. */
  | 'reaped'
  /** Another one is being started. */
  | 'joining';

/** One worker as the page shows it. */
export interface WorkerReading {
  number: number;
  /** Its slot in the arena. */
  slot: number;
  life: Life;
  /** How the last one in this place ended, if one did. */
  death: Death | undefined;
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
  /** How workers of this arena ended, the newest first. */
  deaths: Death[];
  /** Objects that killed workers were just allocating or freeing, so that nobody had noted them. */
  caught: ArenaObject[];
  /** Stamps that were wrong when the page freed what a killed worker had left. */
  violationsInLeft: number;
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
    deaths: [],
    caught: [],
    violationsInLeft: 0,
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

/** A notice for an error. */
export function errorNotice({ title, message }: ErrorReport): Notice {
  return { kind: 'error', title, message };
}
