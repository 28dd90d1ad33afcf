/**
 * A call of the module: tried again while the heap is busy, where that makes sense, and what it refuses
 * thrown.
 */
import { takeRefusal, type Refusal } from './answer.js';
import { ArenaError, type ArenaErrorDetails } from './error.js';
import { current } from './realm.js';

/**
 * What a call of the module returns, which is 0 or false when it was refused: then the reason is thrown.
 *
 * @internal
 */
export function call(
  name: string,
  details: ArenaErrorDetails,
  make: () => number | boolean,
): number {
  for (let started; ;) {
    const result = make();
    if (result) {
      return Number(result);
    }
    const { memory } = current();
    const refusal = takeRefusal(memory);
    started ??= now();
    if (!sleepIfBusy(refusal, started)) {
      throw refused(name, details, refusal);
    }
  }
}

/** The error for a call that was refused, and is not to be tried again. @internal */
export function lastRefusal(name: string, details: ArenaErrorDetails): ArenaError {
  return refused(name, details, takeRefusal(current().memory));
}

function refused(
  name: string,
  details: ArenaErrorDetails,
  refusal: Refusal | undefined,
): ArenaError {
  const { code, message, details: more } = refusal!;
  return new ArenaError(code, `${name}: ${message}`, { ...more, ...details });
}

/** Milliseconds that an agent tries to get into a busy heap which may block, but must not wait. */
const PATIENCE = 1000;

/**
 * After a refusal: whether the call may be tried again, after a moment's sleep. That is for an agent
 * which may block and yet waits for no lock (realm.ts, `watches`): it is to be patient, up to a bound.
 */
function sleepIfBusy(refusal: Refusal | undefined, started: number): boolean {
  const { statics, mayBlock, mayWait } = current();
  if (refusal?.code !== 'Busy' || !mayBlock || mayWait || now() - started > PATIENCE) {
    return false;
  }
  statics.sleep(1);
  return true;
}

/** Milliseconds since some moment. A worklet has no clock, and does not sleep either. */
function now(): number {
  return 'performance' in globalThis ? performance.now() : 0;
}
