/**
 * The deaths of one arena's workers: kills them, keeps what the arena reports, and what they left.
 *
 * What a worker had in the arena's own hands, the arena takes in by itself. What its program had
 * allocated stays allocated, in two parts: the objects that it had noted as its own, which the page
 * takes over once the worker is certainly dead, and those that it was just about to note or to free.
 * Nobody knows of these; they show at a moment when nobody runs, as what is left when all that is
 * known is taken from all that is allocated.
 */
import type { Arena, Snapshot, Verification } from 'warena';
import { DeathWatch } from './death_watch.ts';
import { settle } from './model/account.ts';
import type { Death } from './model/death.ts';
import type { HeldObject } from './model/held_objects.ts';
import { Stamps, violationText } from './model/stamp.ts';
import type { Notice, State, WorkerReading } from './model/state.ts';
import { verdict } from './model/verdict.ts';
import type { Crew } from './workers/crew.ts';

/** Milliseconds in which a death must be seen, and what was left taken in. */
const PATIENCE = 10_000;
/** Objects that a worker can be killed with unnoted: a realloc has the old and the new one. */
const UNNOTED = 2;

export class Deaths {
  readonly #state: State;
  readonly #arena: Arena;
  readonly #watch: DeathWatch;
  readonly #sample: () => Snapshot;
  readonly #changed: () => void;
  #ends: Promise<void>[] = [];
  /** Kills since the last audit. */
  #unaudited = 0;

  /** `sample` takes a snapshot of the arena; `changed` is called when the state has changed. */
  constructor(state: State, arena: Arena, sample: () => Snapshot, changed: () => void) {
    this.#state = state;
    this.#arena = arena;
    this.#watch = new DeathWatch(arena, sample);
    this.#sample = sample;
    this.#changed = changed;
    state.deaths = [];
    state.caught = [];
    state.violationsInLeft = 0;
  }

  /** Ends a worker at whatever instruction it is, without a word to it or to anybody else. */
  kill(crew: Crew, reading: WorkerReading): void {
    const { number, slot } = reading;
    const endedAt = performance.now();
    crew.end(number);
    const death: Death = { worker: number, slot, endedAt, reap: undefined, left: [] };
    reading.life = 'killed';
    reading.death = death;
    this.#state.deaths.unshift(death);
    this.#unaudited += 1;
    this.#ends.push(this.#seeThrough(crew, reading, death));
    this.#changed();
  }

  async #seeThrough(crew: Crew, reading: WorkerReading, death: Death): Promise<void> {
    const found = await this.#watch.reaped(death.slot);
    death.reap = { found, milliseconds: performance.now() - death.endedAt };
    death.left = crew.takeObjects(death.worker);
    reading.life = 'reaped';
    this.#changed();
  }

  /** Resolves when all who were killed are reaped; rejects when that takes too long, once. */
  async settled(): Promise<void> {
    const ends = this.#ends;
    this.#ends = [];
    let timer;
    const late = new Promise<never>((_, reject) => {
      const message = `a killed worker's death was not seen within ${PATIENCE / 1000} s`;
      timer = setTimeout(() => reject(new Error(message)), PATIENCE);
    });
    try {
      await Promise.race([Promise.all(ends), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Takes over what workers of `crew` were given after they had died; for a moment when nobody runs
   * and all are reaped.
   */
  collect(crew: Crew): void {
    for (const { life, death } of this.#state.workers) {
      if (life === 'reaped' && death !== undefined) {
        death.left = death.left.concat(crew.takeObjects(death.worker));
      }
    }
  }

  /** What a proof that found nothing wrong means, beside what is known of every object; at rest. */
  audit(crew: Crew | undefined, verification: Verification): Notice {
    const state = this.#state;
    if (crew !== undefined) {
      this.collect(crew);
    }
    const held = crew?.heldObjects() ?? [];
    const left = [...state.deaths.flatMap((death) => death.left), ...state.caught];
    const account = settle(this.#arena.objects(), [...held, ...left]);
    const explained = account.unknown.length <= this.#unaudited * UNNOTED;
    if (explained) {
      state.caught = [...state.caught, ...account.unknown];
      this.#unaudited = 0;
    }
    return verdict(verification, {
      held: held.length,
      left: left.length + account.unknown.length,
      missing: account.missing,
      lost: explained ? 0 : account.unknown.length,
    });
  }

  /** Frees what the program of a killed worker had allocated; others may run. */
  free(death: Death): void {
    const stamps = new Stamps(this.#arena.memory);
    while (death.left.length > 0) {
      const object = death.left.pop()!;
      this.#check(stamps, death, object);
      this.#arena.free(object.pointer);
    }
    this.#show();
  }

  /** Frees what killed workers were just allocating or freeing; nobody knows its stamps. */
  freeCaught(): void {
    while (this.#state.caught.length > 0) {
      this.#arena.free(this.#state.caught.pop()!.pointer);
    }
    this.#show();
  }

  /** Shows the heap as it is now: at rest, the next frame may sample nothing and be the last. */
  #show(): void {
    this.#sample();
    this.#changed();
  }

  #check(stamps: Stamps, death: Death, { pointer, bytes, owner, sequence }: HeldObject): void {
    const violation = stamps.check(pointer, bytes, owner, sequence);
    if (violation !== undefined) {
      const state = this.#state;
      state.violationsInLeft += 1;
      if (state.violationsInLeft === 1) {
        const title = `Left by worker ${death.worker} · stamp violation`;
        state.notices.push({ kind: 'error', title, message: violationText(violation) });
      }
    }
  }
}
