/**
 * Kills at chosen moments, on the test build: a worker stands still before a write of something that
 * it does, drawn from all the writes that this takes; others go on meanwhile as far as they can; it is
 * killed there, and what it left is taken in.
 */
import { now, summary, until } from './clock.mjs';
import { Crew } from './crew.mjs';
import { Stage } from './mortal.mjs';
import { Rng } from './rng.mjs';
import { SCENES } from './scenes.mjs';
import { killHeirs } from './heirs.mjs';
import { killStarting } from './starts.mjs';
import { killWaiting } from './waiters.mjs';

/** Entries of the ledger of one that plays. */
const ENTRIES = 160;
/** Milliseconds within which one that may not wait gets an answer, whoever stands still. */
const PATIENCE = 5000;
/** Caches that do not widen, so that few objects fill one, or empty it. */
const ARENA = { maximumBytes: 2 ** 31, capacity: 16, burstCapacity: 16 };
/** Kills from which on a scene is sure to have met the lock that it is about. */
const SURE = 50;
const CHUNK = 1 << 20;

/** Kills so many in each scene, or in those whose names contain `only`; rows of a table. */
export async function killAtChosen(host, { kills, seed, only, onProgress }) {
  const theatre = await Theatre.open(host, seed);
  const rows = [['', 'kills, of writes; heap, transfer locks, chunks recovered; in flight; times']];
  const all = {
    ...Object.fromEntries(
      Object.keys(SCENES).map((name) => [name, () => theatre.killIn(name, kills)]),
    ),
    'reap another': () => killHeirs(theatre, kills),
    ...killStarting(theatre, kills),
    'wait for a lock whose holder dies': () => killWaiting(theatre, kills),
  };
  for (const [name, run] of Object.entries(all)) {
    if (name.includes(only)) {
      rows.push([name, await run()]);
      onProgress(rows.at(-1).join(': '));
    }
  }
  return [...rows, ...(await theatre.close())];
}

/** Where scenes are played: a crew with one that survives everything. */
export class Theatre {
  #ownTimes = [];
  #busy = 0;
  #kills = 0;
  #began = now();

  static async open(host, seed) {
    const theatre = new Theatre();
    theatre.rng = new Rng(seed);
    theatre.crew = await Crew.make(host, ARENA);
    theatre.stage = new Stage(theatre.crew.arena.memory);
    // Its starts and ends would be taken for those of a scene.
    theatre.survivor = theatre.crew.start({ seed, nap: 5, yields: false });
    const attached = () => theatre.survivor.agent.said('working');
    await until(() => 'the survivor attaches', attached);
    await theatre.#findLock();
    return theatre;
  }

  /** Finds the write before which the holder of the heap's lock stands still. */
  async #findLock() {
    for (this.heldAt = 1; ; this.heldAt += 1) {
      const holder = await this.hold();
      const isHeld = this.#isRefused(() => this.crew.arena.allocNowait(300_000));
      this.stage.goOn();
      await this.finish(holder);
      if (isHeld) {
        return;
      }
    }
  }

  #isRefused(allocate) {
    try {
      this.crew.arena.freeNowait(allocate());
      return false;
    } catch (error) {
      if (error.code !== 'Busy' && error.code !== 'OutOfMemory') {
        throw error;
      }
      return error.code === 'Busy';
    }
  }

  /** A worker that stands still with the heap's lock in its hands. */
  async hold() {
    const seen = this.stage.stalled;
    const holder = this.crew.play('play', { write: this.heldAt });
    await this.standsStill([holder], seen);
    return holder;
  }

  /** Waits until one more stands still than had `seen`; whether one does, and not all have ended. */
  async standsStill(members, seen) {
    const through = () => members.some(({ agent }) => agent.said('through'));
    await until(
      () => 'a worker stands still',
      () => this.stage.stalled > seen || through(),
    );
    return this.stage.stalled > seen;
  }

  async ready(member) {
    const isReady = () => !member.agent.said('') && member.control.get('paused') === 1;
    await until(() => 'a worker is ready', isReady);
  }

  /** Waits until a member has ended by itself, and sees it off. */
  async finish(member) {
    await until(() => 'a worker ends', () => member.agent.said('done'));
    member.agent.terminate();
    await member.agent.known;
    this.crew.bury(member, false);
  }

  /** Kills so many in a scene; what came of it. */
  async killIn(name, kills) {
    const count = await this.#countWrites(name);
    const outcome = new Outcome(count);
    while (outcome.kills < kills) {
      await this.#play(name, this.rng.below(count), outcome);
    }
    this.#kills += outcome.kills;
    const { recovers } = SCENES[name];
    if (recovers !== undefined && kills >= SURE && outcome.recovered[recovers] === 0) {
      throw new Error(`${name}: nobody died with the lock in its hands`);
    }
    return outcome.toString();
  }

  /** A killing elsewhere. */
  count(kills) {
    this.#kills += kills;
  }

  async #countWrites(name) {
    const actor = await this.#enter(name, undefined);
    const holder = await this.#prepare(SCENES[name]);
    actor.control.wake();
    await until(() => 'a scene is over', () => actor.agent.said('through'));
    if (holder !== undefined) {
      this.stage.goOn();
      await this.finish(holder);
    }
    await this.finish(actor);
    await this.#clear();
    const writes = actor.agent.figure('writes');
    if (writes === 0) {
      throw new Error(`${name}: there is nothing to die of`);
    }
    return writes;
  }

  async #enter(scene, write) {
    // What the director does meanwhile is to need no heap.
    this.crew.arena.reserve(64, 4);
    const options = { entries: ENTRIES, pauses: true };
    const actor = this.crew.play('play', { scene, write }, options);
    await this.ready(actor);
    return actor;
  }

  #ballast = [];

  /** Brings about what the scene asks for; who holds the lock meanwhile, if anybody does. */
  async #prepare({ fresh, locked, deferred }) {
    const { crew, stage, survivor } = this;
    if (fresh === true) {
      const bytes = () => crew.arena.memory.buffer.byteLength;
      for (const before = bytes(); bytes() === before;) {
        this.#ballast.push(crew.arena.alloc(CHUNK));
      }
    }
    if (locked === true) {
      return this.hold();
    }
    if (deferred === true) {
      await crew.pause([survivor]);
      const mine = Array.from({ length: 6 }, () => crew.arena.alloc(5000));
      const holder = await this.hold();
      mine.forEach((pointer) => crew.arena.freeNowait(pointer));
      if (crew.arena.stats().deferredBytes === 0) {
        throw new Error('nothing is deferred');
      }
      stage.goOn();
      await this.finish(holder);
    }
    return undefined;
  }

  async #clear() {
    this.#ballast.forEach((pointer) => this.crew.arena.free(pointer));
    this.#ballast = [];
    await this.crew.prove();
  }

  async #play(name, write, outcome) {
    const { crew, stage, survivor } = this;
    const actor = await this.#enter(name, write);
    const number = await crew.numberOf(actor);
    const holder = await this.#prepare(SCENES[name]);
    const seen = stage.stalled;
    actor.control.wake();
    const stood = await this.standsStill([actor], seen);
    if (stood) {
      this.callMeanwhile(outcome.kills % 10 === 0);
    }
    actor.agent.terminate();
    const known = await actor.agent.known;
    const epoch = crew.beginEpoch();
    if (holder !== undefined) {
      // Whoever holds the lock goes on, or dies too: the dead are reaped after that.
      if (this.rng.once(2)) {
        stage.goOn();
        await this.finish(holder);
      } else {
        await this.kill(holder);
      }
    }
    const report = stood || actor.control.get('seats') > 0 ? await crew.reaped(number) : undefined;
    survivor.control.wake();
    const wentOn = await crew.wentOn([survivor], epoch);
    crew.bury(actor, false);
    const { orphans } = crew.counts;
    await this.#clear();
    if (stood) {
      outcome.add(report, {
        reaped: report.at - known,
        wentOn: wentOn - known,
        orphans: crew.counts.orphans - orphans,
      });
    }
  }

  /** Kills a member, and waits for the news of it. */
  async kill(member) {
    member.agent.terminate();
    await member.agent.known;
    this.crew.bury(member, false);
  }

  /** Whoever may not wait is answered, well or not. */
  callMeanwhile(patiently) {
    const { arena } = this.crew;
    const calls = [
      () => arena.alloc(64),
      () => arena.allocNowait(5000),
      ...(patiently ? [() => arena.alloc(5000)] : []),
    ];
    for (const call of calls) {
      const began = now();
      this.#busy += this.#isRefused(call) ? 1 : 0;
      this.#ownTimes.push(now() - began);
    }
  }

  async close() {
    const { crew } = this;
    await crew.dismiss();
    if (Math.max(...this.#ownTimes) > PATIENCE) {
      throw new Error(`a call that may not wait took ${Math.max(...this.#ownTimes)} ms`);
    }
    const megabytes = crew.arena.memory.buffer.byteLength / 2 ** 20;
    return [
      ['all kills', `${this.#kills}, each followed by a proof`],
      ['calls that may not wait, meanwhile', `${summary(this.#ownTimes)}, ${this.#busy} Busy`],
      ['memory', `${megabytes.toFixed(0)} MiB`],
      ['seconds', ((now() - this.#began) / 1000).toFixed(1)],
    ];
  }
}

/** What came of the kills of a scene. */
export class Outcome {
  kills = 0;
  #writes;
  /** Locks and chunks that were taken out of the hands of the dead. */
  recovered = { heap: 0, transfers: 0, chunks: 0 };
  #orphans = 0;
  #reaped = [];
  #wentOn = [];

  constructor(writes) {
    this.#writes = writes;
  }

  add(report, { reaped, wentOn, orphans }) {
    const { recovered } = this;
    this.kills += 1;
    recovered.heap += report.recoveredHeap ? 1 : 0;
    recovered.transfers += report.recoveredTransfers;
    recovered.chunks += report.reclaimedChunks;
    this.#orphans += orphans;
    this.#reaped.push(reaped);
    this.#wentOn.push(wentOn);
  }

  toString() {
    const { heap, transfers, chunks } = this.recovered;
    const longest = (times) => Math.max(...times).toFixed(1);
    return (
      `${this.kills} of ${this.#writes}; ${heap}, ${transfers}, ${chunks}; ${this.#orphans}; ` +
      `reaped ${longest(this.#reaped)} ms, all go on ${longest(this.#wentOn)} ms at most`
    );
  }
}
