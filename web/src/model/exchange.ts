/**
 * The exchange of `malloc-xfree`: a ring of queues through which workers hand lists of objects on.
 * Worker w fills a list at the end of queue w and leaves it there; worker w + 1 frees the lists of
 * queue w where they stand, oldest first. Each queue has one writer and one reader, so a head and a
 * tail suffice, and a list belongs at any instant to exactly one of them: also when the other, or it
 * itself, is ended there.
 *
 * ```
 *   queue:  head  tail  | a list | a list | …       head: the oldest list that was left
 *                                                   tail: the list that is being filled
 * ```
 *
 * A single place for one list, taken by whoever comes next, would do with a processor for each
 * worker. With fewer, a worker would mostly take back its own list; the ring makes sure that every
 * object is freed by another worker.
 */
import { ObjectList, listWords } from './object_list.ts';

const HEAD = 0;
const TAIL = 1;
const FIRST_LIST = 2;

/** Lists that a queue holds before its writer has to wait, the one that is being freed included. */
export const QUEUE_LISTS = 3;
/** And the one that is being filled. */
const PLACES = QUEUE_LISTS + 1;

export class Exchange {
  readonly workers: number;
  /** Objects that a list can hold. */
  readonly objects: number;
  readonly #words: Int32Array;
  /** The places of every queue. */
  readonly #lists: ObjectList[][];

  /** A view of an exchange that `makeRoom` made with the same numbers. */
  constructor(room: SharedArrayBuffer, workers: number, objects: number) {
    this.workers = workers;
    this.objects = objects;
    const words = new Int32Array(room);
    this.#words = words;
    this.#lists = Array.from({ length: workers }, (_, worker) =>
      Array.from({ length: PLACES }, (_, place) => {
        const at = worker * queueWords(objects) + FIRST_LIST + place * listWords(objects);
        return new ObjectList(words, at);
      }),
    );
  }

  /** Room for an empty exchange between `workers` workers, for lists of up to `objects` objects. */
  static makeRoom(workers: number, objects: number): SharedArrayBuffer {
    return new SharedArrayBuffer(workers * queueWords(objects) * 4);
  }

  /** Whose lists `worker` frees. */
  giver(worker: number): number {
    return (worker + this.workers - 1) % this.workers;
  }

  /** Who frees the lists of `worker`. */
  taker(worker: number): number {
    return (worker + 1) % this.workers;
  }

  /** The list that `worker` is filling. */
  filling(worker: number): ObjectList {
    return this.#list(worker, this.#load(worker, TAIL));
  }

  /** Leaves the list that `worker` was filling for the next one; false when the queue is full. */
  leave(worker: number): boolean {
    const tail = this.#load(worker, TAIL);
    if (tail - this.#load(worker, HEAD) === QUEUE_LISTS) {
      return false;
    }
    // Cleared before it counts as the one being filled.
    this.#list(worker, tail + 1).clear();
    this.#store(worker, TAIL, tail + 1);
    return true;
  }

  /** The oldest list that was left for `worker`, if there is one. */
  incoming(worker: number): ObjectList | undefined {
    const giver = this.giver(worker);
    const head = this.#load(giver, HEAD);
    return head === this.#load(giver, TAIL) ? undefined : this.#list(giver, head);
  }

  /** Gives the place of that list back, all of which is freed. */
  finish(worker: number): void {
    const giver = this.giver(worker);
    this.#store(giver, HEAD, this.#load(giver, HEAD) + 1);
  }

  /** All lists that were left for `worker`, for a moment when nobody runs. */
  allIncoming(worker: number): ObjectList[] {
    const giver = this.giver(worker);
    const head = this.#load(giver, HEAD);
    return Array.from({ length: this.#load(giver, TAIL) - head }, (_, index) =>
      this.#list(giver, head + index),
    );
  }

  #list(writer: number, number: number): ObjectList {
    return this.#lists[writer]![number % PLACES]!;
  }

  #load(writer: number, word: number): number {
    return Atomics.load(this.#words, writer * queueWords(this.objects) + word);
  }

  #store(writer: number, word: number, value: number): void {
    Atomics.store(this.#words, writer * queueWords(this.objects) + word, value);
  }
}

function queueWords(objects: number): number {
  return FIRST_LIST + PLACES * listWords(objects);
}
