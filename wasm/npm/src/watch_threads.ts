/**
 * Watching in Node: whoever creates a worker gets its `exit` event, once the thread has ended.
 *
 * From its first attach on a realm watches every worker that it creates; earlier ones are given to
 * `watch`. A thread does not outlive the one that created it, so the end of a thread is also that of
 * all that are known to descend from it.
 */
import { ArenaError } from './error.js';
import { nodeProcess, type NodeWorker } from './node_threads.js';
import { lifeOfThread, type AgentRecord, type Registry } from './registry.js';

/** @internal */
export class ThreadWatch {
  readonly #registry: Registry;
  readonly #died: (agent: number) => unknown;
  readonly #watched = new WeakSet<NodeWorker>();
  /** What the deaths are known by that were seen. */
  readonly #ended = new Set<number>();
  /** Whether this realm has ever watched a worker. */
  readonly #onWatching: () => void;

  constructor(registry: Registry, died: (agent: number) => unknown, onWatching: () => void) {
    this.#registry = registry;
    this.#died = died;
    this.#onWatching = onWatching;
    nodeProcess()?.on('worker', (worker) => this.watch(worker));
  }

  watch(worker: NodeWorker): void {
    if (this.#watched.has(worker)) {
      return;
    }
    const { threadId } = worker;
    if (threadId === -1) {
      throw new ArenaError(
        'Ended',
        'watch: the worker has ended already, and nobody can tell any more which one it was; watch ' +
          'each worker as soon as it is made',
      );
    }
    this.#watched.add(worker);
    this.#onWatching();
    worker.once('exit', () => {
      this.#ended.add(lifeOfThread(threadId));
      this.#findDead();
    });
  }

  /** Whether an agent is known to have ended. */
  isDead({ life }: AgentRecord): boolean {
    return this.#ended.has(life);
  }

  #findDead(): void {
    const records = [...this.#registry.all()];
    let known;
    do {
      known = this.#ended.size;
      for (const { life, parent } of records) {
        if (this.#ended.has(parent)) {
          this.#ended.add(life);
        }
      }
    } while (this.#ended.size > known);
    for (const record of records.filter((each) => this.isDead(each))) {
      this.#died(record.agent);
    }
  }
}
