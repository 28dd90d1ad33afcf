/** The end of a worker that was killed: when, what was reaped, and what its program had allocated. */
import type { Reaped } from 'warena';
import type { HeldObject } from './held_objects.ts';
import { bytesLabel } from './order.ts';

export interface Death {
  worker: number;
  /** The slot that it had in the arena. */
  slot: number;
  /** When it was terminated, in milliseconds of the page's clock. */
  endedAt: number;
  /** What it had left in the arena's own hands; undefined until that is taken in. */
  reap: { found: Reaped; milliseconds: number } | undefined;
  /** What its program had allocated and nobody has freed yet. */
  left: HeldObject[];
}

/** A number of things in words: `1 object`, `2,048 objects`. */
export function plural(count: number, name: string): string {
  return `${count.toLocaleString('en')} ${name}${count === 1 ? '' : 's'}`;
}

/** `3 objects, 1.5 KiB`. */
export function objectsLabel(objects: number, bytes: number): string {
  return objects === 0 ? 'none' : `${plural(objects, 'object')}, ${bytesLabel(bytes)}`;
}

/** Which locks the dead had held, and so were recovered. */
export function locksLabel({ recoveredHeap, recoveredTransfers }: Reaped): string {
  const heap = recoveredHeap ? ['the heap’s'] : [];
  const transfers = recoveredTransfers > 0 ? [`${recoveredTransfers} of transfer caches`] : [];
  const locks = [...heap, ...transfers];
  return locks.length === 0 ? 'none held' : locks.join(', ');
}

/** Milliseconds in words. */
export function millisecondsLabel(milliseconds: number): string {
  return `${milliseconds.toFixed(milliseconds < 10 ? 1 : 0)} ms`;
}
