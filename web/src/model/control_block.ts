/**
 * The control block: the few words of shared memory by which the page steers its workers and they
 * tell how far they are. A worker in a tight loop receives no message, but it sees a word change;
 * and the page reads a counter without asking anybody.
 *
 * ```
 *   word 0        command: 0 stop, 1 run          written by the page
 *   word 1        pace, operations a second       written by the page
 *   word 2        workers that were ended since
 *                 all got their work              written by the page
 *   word 16·(w+1) the words of worker w, a cache line apart, written by worker w
 *                 (only the bell is rung by others, and the page says who is gone)
 * ```
 *
 * Counters are 32 bits wide and wrap.
 */

const COMMAND = 0;
const PACE = 1;
const DEATHS = 2;
const LINE = 16;

const STOP = 0;
const RUN = 1;

const ALLOCATIONS = 0;
const FREES = 1;
const CYCLES = 2;
const VIOLATIONS = 3;
const OUT_OF_MEMORY = 4;
const BELL = 5;
const GONE = 6;

/** What a worker has done since it was made. */
export interface Tally {
  allocations: number;
  frees: number;
  cycles: number;
  /** Objects whose owner stamp was not the one written at allocation. */
  violations: number;
  /** Allocations that were refused because the memory is full. */
  outOfMemory: number;
}

/** One agent's view of the control block. */
export class ControlBlock {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;

  /** A view of an existing control block. */
  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer);
  }

  /** A control block for up to `workers` workers, all stopped. */
  static create(workers: number): ControlBlock {
    return new ControlBlock(new SharedArrayBuffer((workers + 1) * LINE * 4));
  }

  /** Lets workers run. */
  run(): void {
    Atomics.store(this.#words, COMMAND, RUN);
  }

  /** Stops all workers, also those that sleep or wait for another. */
  stop(): void {
    Atomics.store(this.#words, COMMAND, STOP);
    this.#wakeAll();
  }

  /** Whether workers are to run. */
  get running(): boolean {
    return Atomics.load(this.#words, COMMAND) === RUN;
  }

  /** Operations a second in each worker; 0 is full speed. */
  get pace(): number {
    return Atomics.load(this.#words, PACE);
  }

  set pace(operationsPerSecond: number) {
    Atomics.store(this.#words, PACE, operationsPerSecond);
    this.#wakeAll();
  }

  /** Says that `worker` was ended, so that nobody waits for it any more. */
  leaveOut(worker: number): void {
    Atomics.store(this.#words, line(worker) + GONE, 1);
    Atomics.add(this.#words, DEATHS, 1);
    this.#wakeAll();
  }

  /** Says that there is a `worker` again. */
  takeIn(worker: number): void {
    Atomics.store(this.#words, line(worker) + GONE, 0);
  }

  /** Says that all have got new work, made for all of them. */
  startAnew(): void {
    Atomics.store(this.#words, DEATHS, 0);
  }

  /** Whether `worker` was ended and nobody is in its place. */
  isGone(worker: number): boolean {
    return Atomics.load(this.#words, line(worker) + GONE) !== 0;
  }

  /** Whether somebody was ended in the midst of the work, replaced or not. */
  get brokenUp(): boolean {
    return Atomics.load(this.#words, DEATHS) !== 0;
  }

  /** Worker only: sleeps for at most `milliseconds`; the page's next command or pace ends it. */
  sleep(milliseconds: number): void {
    Atomics.wait(this.#words, COMMAND, RUN, milliseconds);
  }

  /** The count of rings of a worker's bell; read it before looking at what the bell announces. */
  bell(worker: number): number {
    return Atomics.load(this.#words, line(worker) + BELL);
  }

  /** Tells `worker` that something it may wait for has happened. */
  ring(worker: number): void {
    Atomics.add(this.#words, line(worker) + BELL, 1);
    Atomics.notify(this.#words, line(worker) + BELL);
  }

  /** Worker only: waits until its bell has rung again since it was `seen`. */
  waitForBell(worker: number, seen: number): void {
    Atomics.wait(this.#words, line(worker) + BELL, seen);
  }

  /** Publishes what `worker` has done. */
  publish(worker: number, tally: Tally): void {
    const at = line(worker);
    Atomics.store(this.#words, at + ALLOCATIONS, tally.allocations);
    Atomics.store(this.#words, at + FREES, tally.frees);
    Atomics.store(this.#words, at + CYCLES, tally.cycles);
    Atomics.store(this.#words, at + VIOLATIONS, tally.violations);
    Atomics.store(this.#words, at + OUT_OF_MEMORY, tally.outOfMemory);
  }

  /** What `worker` had done when it last published. */
  tally(worker: number): Tally {
    const read = (word: number) => Atomics.load(this.#words, line(worker) + word) >>> 0;
    return {
      allocations: read(ALLOCATIONS),
      frees: read(FREES),
      cycles: read(CYCLES),
      violations: read(VIOLATIONS),
      outOfMemory: read(OUT_OF_MEMORY),
    };
  }

  #wakeAll(): void {
    Atomics.notify(this.#words, COMMAND);
    for (let worker = 0; line(worker) < this.#words.length; worker += 1) {
      this.ring(worker);
    }
  }
}

function line(worker: number): number {
  return (worker + 1) * LINE;
}
