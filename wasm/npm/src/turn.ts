/**
 * Turns: one agent of a memory at a time starts or ends its instance.
 *
 * An agent that starts or ends has no thread-local data, and its stack is a temporary one that all
 * agents share, behind a lock of wasm-bindgen's that waits. Whoever's turn it is has that lock to
 * itself, and its number in the start word tells the allocator for whom it works. An agent that dies
 * in its turn leaves its number there: that is how whoever reaps it knows to set the lock back.
 *
 * Nobody blocks for a turn: it is waited for asynchronously.
 */
import { ArenaError } from './error.js';
import { FACTS } from './generated/facts.js';
import { resetStart } from './instance.js';
import { type Statics } from './statics.js';

const { starting } = FACTS.agents;

/** Milliseconds that an agent waits for its turn: far longer than any living one takes. */
const PATIENCE = 10_000;
/** Milliseconds after which it looks again, should it have missed a change. */
const LOOK = 100;
/** Milliseconds that an agent may be blocked for its turn to end. */
const BLOCK = 50;
/** Looks at the word before that. */
const SPINS = 1000;

/** Waits for the turn of `agent` and takes it. @internal */
export async function takeTurn(statics: Statics, agent: number): Promise<void> {
  // Counted, since a worklet has no clock.
  for (let waited = 0; !statics.replace(starting, 0, agent); waited += LOOK) {
    const holder = statics.load(starting);
    if (waited >= PATIENCE) {
      throw new ArenaError(
        'Busy',
        `agent ${holder} has been starting for ${PATIENCE / 1000} s and keeps all others from it; if it ` +
          'has ended, nobody watches its death: attach in the agent that made it, or arena.watch() it',
      );
    }
    if (holder !== 0) {
      await statics.changed(starting, holder, LOOK);
    }
  }
}

/** Takes the turn of `agent` if that can be done soon; whether it did. @internal */
export function tryTurn(statics: Statics, agent: number, mayBlock: boolean): boolean {
  for (let spin = 0; spin < SPINS; spin += 1) {
    if (statics.replace(starting, 0, agent)) {
      return true;
    }
  }
  if (mayBlock) {
    statics.block(starting, statics.load(starting), BLOCK);
  }
  return statics.replace(starting, 0, agent);
}

/** Ends the caller's turn. @internal */
export function endTurn(statics: Statics): void {
  statics.store(starting, 0);
  statics.notify(starting);
}

/** Ends the turn of `dead`, which has ended in it, if that is so. @internal */
export function recoverTurn(statics: Statics, dead: number, heir: number): void {
  // Taken over first, so that of several who reap one agent only one sets the lock back; and should
  // that one die here too, it is its turn that is recovered.
  if (statics.replace(starting, dead, heir)) {
    resetStart(statics);
    endTurn(statics);
  }
}
