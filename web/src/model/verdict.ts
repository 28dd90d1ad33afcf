/** The result of a verification in words: what the arena proved, beside what the page knows. */
import type { Verification } from 'warena';
import { plural } from './death.ts';
import { bytesLabel } from './order.ts';
import type { Notice } from './state.ts';

/** How many of the arena's objects are whose. */
export interface Shares {
  /** Objects that workers hold. */
  held: number;
  /** Objects that killed workers have left. */
  left: number;
  /** Objects that somebody holds or has left, and that the arena does not have, or has once for two. */
  missing: number;
  /** Objects that the arena has for nobody, and that no kill explains. */
  lost: number;
}

export function verdict(
  { blocks, chunks, hugeBlocks, ownedBytes, allocatedObjects }: Verification,
  { held, left, missing, lost }: Shares,
): Notice {
  const byWorkers = `${plural(held, 'object')} that the workers hold`;
  const byDead = left === 0 ? '' : ` and the ${left.toLocaleString('en')} that killed ones left`;
  if (missing > 0 || lost > 0 || allocatedObjects !== held + left) {
    return {
      kind: 'error',
      title: 'Objects lost',
      message:
        `The arena is in order, but it has ${plural(allocatedObjects, 'object')}. ` +
        `Of the ${byWorkers}${byDead}, ${missing.toLocaleString('en')} are missing; ` +
        `${lost.toLocaleString('en')} are nobody's.`,
    };
  }
  return {
    kind: 'good',
    title: 'Verified',
    message:
      `${plural(blocks, 'block')} in ${plural(chunks, 'chunk')} and ` +
      `${hugeBlocks.toLocaleString('en')} huge ones, ${bytesLabel(ownedBytes)}: every byte belongs ` +
      'to one block, every object is in one place, ' +
      `and the ${byWorkers}${byDead} are there.`,
  };
}
