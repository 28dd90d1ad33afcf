/** `malloc-free`: each cycle allocates K objects, then frees them all. Nobody shares anything. */
import type { ObjectList } from '../model/object_list.ts';
import type { Ground, Workload } from './workload.ts';

export class MallocFree implements Workload {
  readonly #ground: Ground;
  readonly #objects: number;
  readonly #nextSize: () => number;
  readonly #held: ObjectList;
  /** Allocations tried in this cycle. */
  #tried = 0;
  #sequence = 0;

  /** `held` is an empty list for `objects` objects. */
  constructor(ground: Ground, objects: number, nextSize: () => number, held: ObjectList) {
    this.#ground = ground;
    this.#objects = objects;
    this.#nextSize = nextSize;
    this.#held = held;
  }

  cycle(): boolean {
    const { pacer } = this.#ground;
    while (this.#tried < this.#objects) {
      this.#allocate();
      if (!pacer.spend()) {
        return false;
      }
    }
    while (this.#held.freed < this.#held.length) {
      this.#freeNext();
      if (!pacer.spend()) {
        return false;
      }
    }
    this.#startOver();
    return true;
  }

  release(): void {
    while (this.#held.freed < this.#held.length) {
      this.#freeNext();
    }
    this.#startOver();
  }

  #allocate(): void {
    const bytes = this.#nextSize();
    const sequence = this.#sequence++;
    const pointer = this.#ground.arena.alloc(bytes, sequence);
    this.#tried += 1;
    if (pointer !== 0) {
      this.#held.push(pointer, bytes, sequence);
    }
  }

  #freeNext(): void {
    const { arena } = this.#ground;
    arena.freeNext(this.#held, arena.worker);
  }

  #startOver(): void {
    this.#held.clear();
    this.#tried = 0;
  }
}
