/**
 * Kills at random moments: of workers under load, while others go on.
 *
 * Each round starts a few workers and ends each at a moment of its own: while it starts, attaches,
 * works, sleeps for a lock or hands its seat back; by `terminate`, or by itself between two actions.
 * Then whoever runs them waits to learn of it as any program would, and looks at what was left.
 */
import { now, pause, summary, until } from './clock.mjs';
import { Crew } from './crew.mjs';
import { LARGEST, MOST_HELD } from './load.mjs';
import { Rng } from './rng.mjs';

const SURVIVORS = 3;
/** Rounds between two proofs. */
const ROUNDS_OF_A_PROOF = 5;
/** Milliseconds that a survivor may take for one step, at most: a worker that others wait for may take
 * two seconds to die in Chromium, and then there are two cores for all. */
const PATIENCE = 10_000;

/**
 * The most that the memory may ever be: a run that leaks runs out of it. Each worker, and each dead
 * one whose objects are kept until the next proof, holds so much; rounded up to powers of two, and
 * in pieces, that is twice as much again; the rest is stacks, caches and block maps.
 */
function bound(crowd) {
  const workers = SURVIVORS + crowd * (1 + ROUNDS_OF_A_PROOF / 2);
  const megabytes = (workers * (MOST_HELD + LARGEST) * 4) / 2 ** 20;
  return Math.ceil(megabytes / 64) * (64 << 20);
}

/** Kills so many; resolves with what came of it, as rows of a table. */
export async function killAtRandom(host, { kills, seed, onProgress }) {
  const rng = new Rng(seed);
  const maximumBytes = bound(host.CROWD);
  const crew = await Crew.make(host, { maximumBytes });
  const run = new Run(host, crew, rng);
  await run.begin();
  let halfway = 0;
  for (let round = 0; run.kills < kills; round += 1) {
    await run.round(Math.min(host.CROWD, kills - run.kills));
    if (round % ROUNDS_OF_A_PROOF === 0) {
      await crew.prove();
    }
    if (halfway === 0 && run.kills >= kills / 2) {
      halfway = crew.arena.memory.buffer.byteLength;
    }
    onProgress(`${run.kills} of ${kills} kills`);
  }
  return run.end({ maximumBytes, halfway });
}

class Run {
  kills = 0;
  #host;
  #crew;
  #rng;
  #survivors = [];
  #began = now();
  #moments = { starting: 0, working: 0 };
  #ends = { terminate: 0, exit: 0 };
  #times = { dying: [], reaped: [], rebuilt: [], wentOn: [], own: [] };
  #reports = { seated: 0, heap: 0, transfers: 0, objects: 0, chunks: 0 };

  constructor(host, crew, rng) {
    this.#host = host;
    this.#crew = crew;
    this.#rng = rng;
  }

  async begin() {
    for (let seed = 0; seed < SURVIVORS; seed += 1) {
      // One of them never lets its event loop turn.
      this.#survivors.push(this.#crew.start({ seed, nap: 2, yields: seed > 0 }));
    }
    await this.#working(this.#survivors);
  }

  async #working(members) {
    const idle = () => members.filter(({ agent }) => !agent.said('working'));
    await until(() => `${idle().length} workers attach`, () => idle().length === 0);
  }

  /** Starts so many workers and ends them. */
  async round(count) {
    const rng = this.#rng;
    const victims = Array.from({ length: count }, () => {
      const member = this.#crew.start({ seed: rng.word(), yields: rng.once(2) });
      return this.#end(member, {
        while: rng.once(4) ? 'starting' : 'working',
        by: rng.pick(this.#host.ENDS),
        after: rng.below(25),
        freeNow: rng.once(2),
      });
    });
    await Promise.all(victims);
    this.#callAsWell();
  }

  async #end(member, how) {
    const { agent, control } = member;
    await agent.online;
    let number;
    if (how.while === 'working') {
      await this.#working([member]);
      // It may have no seat at this very moment.
      number = await this.#crew.numberOf(member).catch(() => undefined);
    }
    await pause(how.after);
    const isWorking = agent.said('working');
    const began = now();
    if (how.by === 'exit' && isWorking) {
      control.set('quit', 1 + this.#rng.below(40));
      this.#ends.exit += 1;
    } else {
      agent.terminate();
      this.#ends.terminate += 1;
    }
    const known = await agent.known;
    if (agent.failure !== undefined) {
      throw agent.failure;
    }
    this.#times.dying.push(known - began);
    const epoch = this.#crew.beginEpoch();
    if (control.get('seats') > 0 && number !== undefined) {
      await this.#reaped(number, known);
    }
    this.#times.wentOn.push((await this.#crew.wentOn(this.#survivors, epoch)) - known);
    this.#crew.bury(member, how.freeNow);
    this.#moments[isWorking ? 'working' : 'starting'] += 1;
    this.kills += 1;
  }

  async #reaped(number, known) {
    const report = await this.#crew.reaped(number);
    this.#times.reaped.push(report.at - known);
    if (report.recoveredHeap) {
      this.#times.rebuilt.push(report.at - known);
    }
    this.#reports.seated += 1;
    this.#reports.heap += report.recoveredHeap ? 1 : 0;
    this.#reports.transfers += report.recoveredTransfers;
    this.#reports.objects += report.objects;
    this.#reports.chunks += report.reclaimedChunks;
  }

  /** Whoever runs the others, and may not wait, allocates and frees too. */
  #callAsWell() {
    const { arena } = this.#crew;
    for (const bytes of [64, 5000, 200_000]) {
      const began = now();
      arena.free(arena.alloc(bytes));
      this.#times.own.push(now() - began);
    }
  }

  async end({ maximumBytes, halfway }) {
    const crew = this.#crew;
    const steps = this.#survivors.map(({ control }) => control.get('steps'));
    const longest = Math.max(...this.#survivors.map(({ control }) => control.getTime('longest')));
    await crew.prove();
    await crew.dismiss();
    if (longest > PATIENCE) {
      throw new Error(`a survivor stood still for ${longest} ms`);
    }
    const mib = (bytes) => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
    const { starting, working } = this.#moments;
    const { seated, heap, transfers, objects, chunks } = this.#reports;
    const { found, orphans, proofs } = crew.counts;
    const { terminate, exit } = this.#ends;
    return [
      ['kills', `${this.kills} (${working} at work, ${starting} while starting)`],
      ['ended by', `terminate ${terminate}, themselves ${exit}`],
      ['reaped with a seat', `${seated}, each by itself`],
      ['held the heap lock', `${heap}`],
      ['held a transfer lock', `${transfers}`],
      ['objects from their caches', `${objects}`],
      ['chunks on their way', `${chunks}`],
      ['their objects found again', `${found}, stamps whole`],
      ['objects in flight', `${orphans}`],
      ['proofs', `${proofs}, all in order`],
      ['from the kill to its being known', summary(this.#times.dying)],
      // Whoever counts may learn of a death a moment after whoever reaps.
      ['from its being known to the report', summary(this.#times.reaped)],
      ['the same where the heap was rebuilt', summary(this.#times.rebuilt)],
      ['from its being known until all go on', summary(this.#times.wentOn)],
      ['longest step of a survivor', `${longest.toFixed(1)} ms`],
      ['steps of the survivors', steps.join(', ')],
      ["the watcher's own calls", summary(this.#times.own)],
      [
        'memory',
        `${mib(halfway)} halfway, ${mib(crew.arena.memory.buffer.byteLength)} at the end, of at most ` +
          `${mib(maximumBytes)}`,
      ],
      ['seconds', ((now() - this.#began) / 1000).toFixed(1)],
    ];
  }
}
