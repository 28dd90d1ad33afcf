/**
 * Watching in browsers: one elected agent of a memory requests the lock of every other one, and is
 * granted it when that one has died (life.ts).
 *
 * All agents stand in line for one more lock, and whoever holds it is the watcher; so when the
 * watcher dies, the next one follows, and finds it among the dead. That is two requests for each
 * agent in all. The watcher must have an event loop that turns, or it would never be told:
 *
 * - A page steals the watch when it comes, since its main thread does not block.
 * - A watcher counts up a word of the memory, the beat. Whoever sees it stand still steals the watch.
 *   A watcher that is robbed while it was busy stands in line again.
 */
import { FACTS } from './generated/facts.js';
import { lifeLock } from './life.js';
import { LIFE_LOCK, type AgentRecord, type Registry } from './registry.js';
import type { Statics } from './statics.js';

const { beat, changes } = FACTS.agents;

/** Milliseconds between two beats. */
const BEAT = 500;
/** Beats missed before the watch is stolen; up to as many again, so that not all do it at once. */
const MISSED = 4;

/** What a watch is for. @internal */
export interface WatchOrder {
  readonly locks: LockManager;
  readonly statics: Statics;
  readonly registry: Registry;
  /** The memory's name. */
  readonly memory: string;
  /** Who watches. */
  readonly agent: number;
  /** Called for each agent that has died; its lock is held until this is done. */
  readonly died: (agent: number) => Promise<unknown>;
  /** Called when this agent becomes the watcher, and when it no longer is. */
  readonly onWatching: (watching: boolean) => void;
}

/** @internal */
export class LockWatch {
  readonly #order: WatchOrder;
  /** Ends the place in line for the watch. */
  #line = new AbortController();
  /** Ends the watch; there while this agent is the watcher. */
  #term: AbortController | undefined;
  /** Agents whose locks are requested. */
  readonly #requested = new Set<number>();
  #lastBeat = -1;
  #missed = 0;

  constructor(order: WatchOrder, isPage: boolean) {
    this.#order = order;
    if (isPage) {
      this.#steal();
    } else {
      this.#standInLine();
    }
    setInterval(() => this.#listen(), BEAT);
  }

  /** Whether an agent is known to have ended. */
  async isDead({ agent, life }: AgentRecord): Promise<boolean> {
    const { locks, memory } = this.#order;
    const options: LockOptions = { mode: 'shared', ifAvailable: true };
    return (
      life === LIFE_LOCK &&
      locks.request(lifeLock(memory, agent), options, (lock) => lock !== null)
    );
  }

  #standInLine(): void {
    this.#line = new AbortController();
    const { signal } = this.#line;
    this.#request({ signal }, signal);
  }

  #steal(): void {
    // Its own place in line is given up: it would rob itself of nothing.
    this.#line.abort();
    this.#request({ steal: true });
  }

  #request(options: LockOptions, left?: AbortSignal): void {
    const { locks, memory } = this.#order;
    const held = () => new Promise<void>(() => this.#begin());
    locks.request(`${memory}:watcher`, options, held).catch((error: unknown) => {
      if (!isAbort(error)) {
        throw error;
      }
      if (left?.aborted !== true) {
        this.#robbed();
      }
    });
  }

  #begin(): void {
    this.#term?.abort();
    this.#term = new AbortController();
    this.#order.onWatching(true);
    void this.#watch(this.#term.signal);
  }

  #robbed(): void {
    this.#term?.abort();
    this.#term = undefined;
    this.#order.onWatching(false);
    this.#standInLine();
  }

  async #watch(term: AbortSignal): Promise<void> {
    const { statics, registry, agent } = this.#order;
    while (!term.aborted) {
      const seen = statics.load(changes);
      statics.increment(beat);
      for (const record of registry.all()) {
        if (record.life === LIFE_LOCK && record.agent !== agent) {
          this.#waitForDeath(record.agent, term);
        }
      }
      await statics.changed(changes, seen, BEAT);
    }
  }

  #waitForDeath(agent: number, signal: AbortSignal): void {
    if (this.#requested.has(agent)) {
      return;
    }
    this.#requested.add(agent);
    const { locks, memory, died } = this.#order;
    // Shared, so that whoever else asks meanwhile whether it is dead is told so.
    const options: LockOptions = { mode: 'shared', signal };
    locks
      .request(lifeLock(memory, agent), options, () => died(agent))
      .catch((error: unknown) => {
        if (!isAbort(error)) {
          throw error;
        }
      })
      .finally(() => this.#requested.delete(agent));
  }

  /** Steals the watch from a watcher whose event loop does not turn. */
  #listen(): void {
    const heard = this.#order.statics.load(beat);
    if (this.#term !== undefined || heard !== this.#lastBeat) {
      this.#lastBeat = heard;
      this.#missed = 0;
      return;
    }
    this.#missed += 1;
    if (this.#missed >= MISSED * (1 + Math.random())) {
      this.#missed = 0;
      this.#steal();
    }
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
