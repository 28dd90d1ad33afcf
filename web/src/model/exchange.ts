/**
 * The exchange of `malloc-xfree`: a ring of queues through which workers hand lists of objects on.
 * Worker w puts the list it has allocated into queue w, and takes the list that worker w − 1 left
 * in queue w − 1. Each queue has one writer and one reader, so a head and a tail suffice.
 *
 * ```
 *   queue:  head  tail  | count  pointer bytes sequence  pointer bytes sequence … | next list …
 * ```
 *
 * A single place for one list, taken by whoever comes next, would do with a processor for each
 * worker. With fewer, a worker would mostly take back its own list; the ring makes sure that every
 * object is freed by another worker.
 */
import { OBJECT_WORDS, type ObjectList } from './object_list.ts';

const HEAD = 0;
const TAIL = 1;
const FIRST_LIST = 2;

/** Lists that a queue holds before its writer has to wait. */
export const QUEUE_LISTS = 2;

export class Exchange {
  readonly buffer: SharedArrayBuffer;
  readonly workers: number;
  /** Objects that a list can hold. */
  readonly objects: number;
  readonly #words: Int32Array;

  /** A view of an existing exchange; all views must be made with the same numbers. */
  constructor(buffer: SharedArrayBuffer, workers: number, objects: number) {
    this.buffer = buffer;
    this.workers = workers;
    this.objects = objects;
    this.#words = new Int32Array(buffer);
  }

  /** An empty exchange between `workers` workers for lists of up to `objects` objects. */
  static create(workers: number, objects: number): Exchange {
    const words = workers * queueWords(objects);
    return new Exchange(new SharedArrayBuffer(words * 4), workers, objects);
  }

  /** Whose lists `worker` takes. */
  giver(worker: number): number {
    return (worker + this.workers - 1) % this.workers;
  }

  /** Who takes the lists of `worker`. */
  taker(worker: number): number {
    return (worker + 1) % this.workers;
  }

  /** Leaves a copy of `list` for the next worker; false when the queue is full. */
  put(worker: number, list: ObjectList): boolean {
    const queue = worker * queueWords(this.objects);
    const tail = Atomics.load(this.#words, queue + TAIL);
    if (tail - Atomics.load(this.#words, queue + HEAD) === QUEUE_LISTS) {
      return false;
    }
    const at = this.#list(queue, tail);
    this.#words[at] = list.length;
    list.writeTo(this.#words, at + 1);
    // The list is written before the tail that shows it to the reader.
    Atomics.store(this.#words, queue + TAIL, tail + 1);
    return true;
  }

  /** Takes the oldest list that was left for `worker` into `list`; false when there is none. */
  take(worker: number, list: ObjectList): boolean {
    const queue = this.giver(worker) * queueWords(this.objects);
    const head = Atomics.load(this.#words, queue + HEAD);
    if (head === Atomics.load(this.#words, queue + TAIL)) {
      return false;
    }
    const at = this.#list(queue, head);
    list.readFrom(this.#words, at + 1, this.#words[at]!);
    // The list is copied before the head gives its place back to the writer.
    Atomics.store(this.#words, queue + HEAD, head + 1);
    return true;
  }

  #list(queue: number, number: number): number {
    return queue + FIRST_LIST + (number % QUEUE_LISTS) * listWords(this.objects);
  }
}

function listWords(objects: number): number {
  return 1 + objects * OBJECT_WORDS;
}

function queueWords(objects: number): number {
  return FIRST_LIST + QUEUE_LISTS * listWords(objects);
}
