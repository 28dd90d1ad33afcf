/**
 * The test build's exports beyond the package's own: an agent of it can be made to stand still before
 * any of its writes to shared memory.
 */
// The very file that the package uses, and so the same instance.
import * as glue from './node_modules/warena/dist/glue/warena_wasm.js';

/** More writes than anything does. */
const MOST = 2 ** 32 - 2;
/** No agent stands still. */
const IMMORTAL = 2 ** 32 - 1;

/** The calling agent stands still before its write of that number, from now on. */
export const dieAt = (write) => glue.die_at(write);

/** Writes that `act` does, of the calling agent. */
export async function countWrites(act) {
  glue.die_at(MOST);
  await act();
  const writes = MOST - glue.writes_left();
  glue.die_at(undefined);
  return writes;
}

/** How often the calling agent has waited for a lock. */
export const waits = () => glue.waits();

/** What whoever runs mortal agents of a memory sees of them. */
export class Stage {
  #words;
  #stalled;
  #goOn;
  #starting;

  constructor(memory) {
    this.#words = new Int32Array(memory.buffer, 0, (1 << 20) / 4);
    this.#stalled = glue.stalled_word() / 4;
    this.#goOn = glue.go_on_word() / 4;
    this.#starting = glue.starting_writes_word() / 4;
  }

  /** How many agents have come to stand still so far. */
  get stalled() {
    return Atomics.load(this.#words, this.#stalled);
  }

  /** Those that stand still go on. */
  goOn() {
    Atomics.add(this.#words, this.#goOn, 1);
  }

  /** The next agent that starts or ends stands still before its write of that number. */
  stallStart(write) {
    Atomics.store(this.#words, this.#starting, write);
  }

  /** The next one counts its writes. */
  countStart() {
    this.stallStart(MOST);
  }

  /** None stands still any more; the writes of those that started or ended since they are counted. */
  endStarts() {
    return MOST - (Atomics.exchange(this.#words, this.#starting, IMMORTAL) >>> 0);
  }
}
