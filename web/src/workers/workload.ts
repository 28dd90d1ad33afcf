/** What every workload can do, what it stands on, and how sizes are chosen. */
import type { ControlBlock } from '../model/control_block.ts';
import { Random } from '../model/random.ts';
import { MIXED_LOG2 } from '../model/settings.ts';
import type { Pacer } from './pacer.ts';
import type { StampedArena } from './stamped_arena.ts';

export interface Workload {
  /**
   * Runs one cycle, or goes on with one that was interrupted. False when the worker was told to
   * stop before the cycle was over.
   */
  cycle(): boolean;
  /** Frees all that the workload holds. Called only while no worker runs. */
  release(): void;
}

/** What a workload stands on: one worker's arena, its pace, and the page's commands. */
export interface Ground {
  arena: StampedArena;
  pacer: Pacer;
  control: ControlBlock;
}

/** The size of each next object: always `bytes`, or drawn anew, every power of two as likely. */
export function sizes(bytes: number | undefined, worker: number): () => number {
  if (bytes !== undefined) {
    return () => bytes;
  }
  const random = new Random(worker);
  const spread = MIXED_LOG2.most - MIXED_LOG2.least;
  return () => {
    const log2 = MIXED_LOG2.least + (random.next() % (spread + 1));
    // Up to half below the power of two, so that blocks have unused tails as well.
    return 2 ** log2 - (random.next() % 2 ** (log2 - 1));
  };
}
