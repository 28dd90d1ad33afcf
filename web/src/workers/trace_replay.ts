/**
 * `trace`: replays a recorded program over and over. A cycle is K operations of it.
 *
 * Where the trace's threads are spread over workers, an object's entry in the table of pointers
 * orders them: its maker waits until the entry is empty, whoever takes the object over waits until
 * it is full. Once a worker was ended in the midst of this, the recorded order is lost, and nobody
 * waits any more until all start anew: an object that is not there is not taken over, and one that is
 * still there is not made again.
 */
import { ABSENT, EMPTY, NONE, type Program } from '../model/trace.ts';
import type { Ground, Workload } from './workload.ts';


/** Milliseconds that a worker sleeps at a time while it waits for another. */
const PATIENCE = 1;
/** Looks at an entry before the worker sleeps. */
const SPINS = 200;

export class TraceReplay implements Workload {
  readonly #ground: Ground;
  readonly #program: Program;
  readonly #operations: number;
  #next = 0;

  constructor(ground: Ground, program: Program, operations: number) {
    this.#ground = ground;
    this.#program = program;
    this.#operations = operations;
  }

  cycle(): boolean {
    if (this.#program.source.length === 0) {
      // More workers than threads in the trace: nothing to do but to stay out of the way.
      this.#ground.control.sleep(PATIENCE);
      return this.#ground.control.running;
    }
    for (let done = 0; done < this.#operations; done += 1) {
      if (!this.#replayNext() || !this.#ground.pacer.spend()) {
        return false;
      }
    }
    return true;
  }

  release(): void {
    // Each worker frees what it would have taken over: together they free everything that lives.
    const { source, pointers } = this.#program;
    for (const object of source) {
      if (object !== NONE) {
        this.#free(object, Atomics.exchange(pointers, object, EMPTY));
      }
    }
    this.#next = 0;
  }

  #replayNext(): boolean {
    const { source, target, pointers } = this.#program;
    const from = source[this.#next]!;
    const to = target[this.#next]!;
    if (from !== NONE && !this.#wait(from, (entry) => entry !== EMPTY)) {
      return false;
    }
    if (to !== NONE && !this.#wait(to, (entry) => entry === EMPTY)) {
      return false;
    }
    // Out of the table before it is freed or moved, so that nobody else ever frees it.
    const old = from === NONE ? EMPTY : Atomics.exchange(pointers, from, EMPTY);
    if (to !== NONE && Atomics.load(pointers, to) === EMPTY) {
      this.#replace(from, old, to);
    } else {
      this.#free(from, old);
    }
    this.#next = (this.#next + 1) % source.length;
    return true;
  }

  /** Makes the object `to`, out of `from` if that is there. */
  #replace(from: number, old: number, to: number): void {
    const { pointers } = this.#program;
    const isThere = old !== EMPTY && old !== ABSENT;
    const pointer = isThere ? this.#resize(from, old, to) : this.#make(to);
    Atomics.store(pointers, to, pointer === 0 ? ABSENT : pointer);
    if (isThere && pointer === 0) {
      this.#free(from, old);
    }
  }

  /** Allocates an object; 0 when the memory is full. */
  #make(object: number): number {
    const { size, alignmentLog2, zeroed } = this.#program;
    const { arena } = this.#ground;
    const bytes = size[object]!;
    if (zeroed[object] === 1) {
      return arena.allocZeroed(bytes, object);
    }
    const log2 = alignmentLog2[object]!;
    return log2 === 0 ? arena.alloc(bytes, object) : arena.allocAligned(bytes, 2 ** log2, object);
  }

  /** Makes one object out of another; 0 when the memory is full, and the other is as it was. */
  #resize(from: number, entry: number, to: number): number {
    const { size, maker } = this.#program;
    const old = { bytes: size[from]!, owner: maker[from]!, sequence: from };
    return this.#ground.arena.realloc(entry >>> 0, old, size[to]!, to);
  }

  #free(object: number, entry: number): void {
    if (entry !== EMPTY && entry !== ABSENT) {
      const { size, maker } = this.#program;
      this.#ground.arena.free(entry >>> 0, size[object]!, maker[object]!, object);
    }
  }

  /**
   * Waits until the entry of `object` is as it must be, or no order is left to wait for; false when
   * told to stop meanwhile.
   */
  #wait(object: number, fits: (entry: number) => boolean): boolean {
    const { pointers } = this.#program;
    const { control, arena } = this.#ground;
    for (let look = 0; !fits(Atomics.load(pointers, object)); look += 1) {
      if (control.brokenUp) {
        return true;
      }
      if (look >= SPINS) {
        if (!control.running) {
          return false;
        }
        arena.publish();
        control.sleep(PATIENCE);
      }
    }
    return true;
  }
}
