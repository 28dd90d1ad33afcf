/**
 * `malloc-xfree`: each cycle allocates K objects, leaves them for the next worker, takes the list
 * that the worker before left behind, and frees that. So every object is freed by another worker,
 * unless that one has ended: then nobody waits for it, and a worker frees its own.
 */
import type { Exchange } from '../model/exchange.ts';
import type { ObjectList } from '../model/object_list.ts';
import type { Ground, Workload } from './workload.ts';

export class MallocXfree implements Workload {
  readonly #ground: Ground;
  readonly #exchange: Exchange;
  readonly #nextSize: () => number;
  /** The list of the worker before that is being freed. */
  #taken: ObjectList | undefined;
  /** Allocations tried for the list that is being filled. */
  #tried = 0;
  #sequence = 0;

  constructor(ground: Ground, exchange: Exchange, nextSize: () => number) {
    this.#ground = ground;
    this.#exchange = exchange;
    this.#nextSize = nextSize;
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
    while (this.#take()) {
      const taken = this.#taken!;
      while (taken.freed < taken.length) {
        arena.freeNext(taken, this.#giver);
      }
      this.#finish();
    }
    const own = this.#exchange.filling(arena.worker);
    while (own.freed < own.length) {
      arena.freeNext(own, arena.worker);
    }
    this.#startOver(own);
  }

  get #giver(): number {
    return this.#exchange.giver(this.#ground.arena.worker);
  }

  #allocate(): boolean {
    const { arena, pacer } = this.#ground;
    const own = this.#exchange.filling(arena.worker);
    while (this.#tried < this.#exchange.objects) {
      const bytes = this.#nextSize();
      const sequence = this.#sequence++;
      const pointer = arena.alloc(bytes, sequence);
      this.#tried += 1;
      if (pointer !== 0) {
        own.push(pointer, bytes, sequence);
      }
      if (!pacer.spend()) {
        return false;
      }
    }
    return true;
  }

  /** Leaves the list for the next worker. While the queue is full, frees what comes in, or waits. */
  #leave(): boolean {
    const { arena, control } = this.#ground;
    const taker = this.#exchange.taker(arena.worker);
    for (;;) {
      // Read first: whatever happens after this makes the wait below return at once.
      const seen = control.bell(arena.worker);
      if (control.isGone(taker)) {
        return this.#freeOwn();
      }
      if (this.#exchange.leave(arena.worker)) {
        control.ring(taker);
        this.#tried = 0;
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

  /** Frees the list that nobody will take. */
  #freeOwn(): boolean {
    const { arena, pacer } = this.#ground;
    const own = this.#exchange.filling(arena.worker);
    while (own.freed < own.length) {
      arena.freeNext(own, arena.worker);
      if (!pacer.spend()) {
        return false;
      }
    }
    this.#startOver(own);
    return true;
  }

  /** Takes the list that was left for this worker, unless it has one; false when there is none. */
  #take(): boolean {
    this.#taken ??= this.#exchange.incoming(this.#ground.arena.worker);
    return this.#taken !== undefined;
  }

  /** Frees the list that was taken, if there is one. */
  #freeTaken(): boolean {
    const { arena, pacer } = this.#ground;
    const taken = this.#taken;
    if (taken === undefined) {
      return true;
    }
    while (taken.freed < taken.length) {
      arena.freeNext(taken, this.#giver);
      if (!pacer.spend()) {
        return false;
      }
    }
    this.#finish();
    return true;
  }

  /** Gives the place of the list that is freed back to its writer. */
  #finish(): void {
    this.#taken = undefined;
    this.#exchange.finish(this.#ground.arena.worker);
    this.#ground.control.ring(this.#giver);
  }

  #startOver(own: ObjectList): void {
    own.clear();
    this.#tried = 0;
  }
}
