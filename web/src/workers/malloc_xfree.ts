/**
 * `malloc-xfree`: each cycle allocates K objects, leaves them for the next worker, takes the list
 * that the worker before left behind, and frees that. So every object is freed by another worker.
 */
import type { Exchange } from '../model/exchange.ts';
import { ObjectList } from '../model/object_list.ts';
import type { Ground, Workload } from './workload.ts';

export class MallocXfree implements Workload {
  readonly #ground: Ground;
  readonly #exchange: Exchange;
  readonly #nextSize: () => number;
  /** What this worker has allocated and not yet left for the next. */
  readonly #own: ObjectList;
  /** What this worker has taken over from the one before. */
  readonly #taken: ObjectList;
  /** Allocations tried for `#own`. */
  #tried = 0;
  /** Objects of `#taken` that are freed already. */
  #freed = 0;
  #sequence = 0;

  constructor(ground: Ground, exchange: Exchange, nextSize: () => number) {
    this.#ground = ground;
    this.#exchange = exchange;
    this.#nextSize = nextSize;
    this.#own = new ObjectList(exchange.objects);
    this.#taken = new ObjectList(exchange.objects);
  }

  cycle(): boolean {
    // What an interrupted cycle had taken comes first.
    if (!this.#freeTaken() || !this.#allocate() || !this.#leave()) {
      return false;
    }
    this.#take();
    return this.#freeTaken();
  }

  release(): void {
    const { arena } = this.#ground;
    do {
      while (this.#freed < this.#taken.length) {
        this.#freeNext();
      }
    } while (this.#take());
    for (let index = 0; index < this.#own.length; index += 1) {
      const own = this.#own;
      arena.free(own.pointer(index), own.bytes(index), arena.worker, own.sequence(index));
    }
    this.#startOver();
  }

  #allocate(): boolean {
    while (this.#tried < this.#exchange.objects) {
      const bytes = this.#nextSize();
      const sequence = this.#sequence++;
      const pointer = this.#ground.arena.alloc(bytes, sequence);
      this.#tried += 1;
      if (pointer !== 0) {
        this.#own.push(pointer, bytes, sequence);
      }
      if (!this.#ground.pacer.spend()) {
        return false;
      }
    }
    return true;
  }

  /** Leaves the list for the next worker. While the queue is full, frees what comes in, or waits. */
  #leave(): boolean {
    const { arena, control } = this.#ground;
    for (;;) {
      // Read first: whatever happens after this makes the wait below return at once.
      const seen = control.bell(arena.worker);
      if (this.#exchange.put(arena.worker, this.#own)) {
        control.ring(this.#exchange.taker(arena.worker));
        this.#startOver();
        return true;
      }
      if (!control.running) {
        return false;
      }
      if (this.#take()) {
        if (!this.#freeTaken()) {
          return false;
        }
      } else {
        arena.publish();
        control.waitForBell(arena.worker, seen);
      }
    }
  }

  /** Takes the list that was left for this worker; false when there is none. */
  #take(): boolean {
    const { arena, control } = this.#ground;
    if (!this.#exchange.take(arena.worker, this.#taken)) {
      return false;
    }
    this.#freed = 0;
    control.ring(this.#exchange.giver(arena.worker));
    return true;
  }

  #freeTaken(): boolean {
    while (this.#freed < this.#taken.length) {
      this.#freeNext();
      if (!this.#ground.pacer.spend()) {
        return false;
      }
    }
    return true;
  }

  #freeNext(): void {
    const { arena } = this.#ground;
    const index = this.#freed++;
    const taken = this.#taken;
    const owner = this.#exchange.giver(arena.worker);
    arena.free(taken.pointer(index), taken.bytes(index), owner, taken.sequence(index));
  }

  #startOver(): void {
    this.#own.clear();
    this.#tried = 0;
  }
}
