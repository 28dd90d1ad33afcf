/**
 * The workers of one arena under load, and whoever runs them: it starts them, has them pause, and
 * learns of the deaths among them as any program would.
 */
import { Arena } from 'warena';
import { now, until } from './clock.mjs';
import { prove } from './proof.mjs';
import { check } from './stamp.mjs';
import { bytesFor, Control, Exchange, Ledger } from './words.mjs';

/** Entries of a ledger. */
const ENTRIES = 48;
/** Objects that a worker may have got, and entered nowhere, when it dies: one bulk. */
const MOST_IN_FLIGHT = 8;

export class Crew {
  /** Reports of the dead by the number of their agent, each with the time that it came. */
  reports = new Map();
  /** What was counted. */
  counts = { found: 0, orphans: 0, proofs: 0 };
  #host;
  #director = new SharedArrayBuffer(bytesFor(0));
  #exchange = new SharedArrayBuffer(Exchange.BYTES);
  #members = new Set();
  /** The dead whose objects were not freed yet. */
  #estates = [];
  /** Of the dead since the last proof. */
  #leaving = [];
  #inFlight = 0;

  static async make(host, options) {
    const crew = new Crew();
    crew.#host = host;
    crew.arena = await Arena.create(options);
    crew.arena.on('reap', (report) => crew.reports.set(report.agent, { ...report, at: now() }));
    return crew;
  }

  get members() {
    return this.#members;
  }

  /** Starts a worker under load. */
  start(options) {
    return this.play('work', { yields: true, nap: 0, ...options });
  }

  /** What a worker shares with whoever runs it. */
  static member(entries = ENTRIES) {
    const words = new SharedArrayBuffer(bytesFor(entries));
    return { words, control: new Control(words), ledger: new Ledger(words) };
  }

  /** Starts a worker in any role, which may pause at first. */
  play(role, options, { entries, pauses = false } = {}) {
    const member = Crew.member(entries);
    const { words, control } = member;
    control.set('pause', pauses ? 1 : 0);
    member.agent = new this.#host.Agent(role, {
      handle: this.arena.handle(),
      words,
      exchange: this.#exchange,
      director: this.#director,
      ...options,
    });
    this.#members.add(member);
    return member;
  }

  /** The number of the agent of a member, which is alive: a reaping of it is refused by that. */
  async numberOf({ control }) {
    const refusal = await this.arena.reap(control.get('slot')).then(
      () => undefined,
      (error) => error,
    );
    if (refusal?.code !== 'Live') {
      throw new Error(`a living agent is reaped: ${refusal}`);
    }
    return Number(refusal.message.match(/agent (\d+)/)[1]);
  }

  /** Resolves with the report of an agent's reaping. */
  async reaped(number) {
    const seats = () => this.arena.stats().workers;
    await until(
      () => `agent ${number} is reaped, ${seats()} seats are taken`,
      () => this.reports.has(number),
    );
    return this.reports.get(number);
  }

  /** A death is known: its epoch. */
  beginEpoch() {
    const director = new Control(this.#director);
    director.add('epoch', 1);
    return director.get('epoch');
  }

  /** When the last of those that live had done a step that began in the epoch. */
  async wentOn(survivors, epoch) {
    const late = () => survivors.filter(({ control }) => control.get('epoch') < epoch);
    await until(() => `${late().length} survivors go on`, () => late().length === 0);
    return Math.max(...survivors.map(({ control }) => control.getTime('wentOn')));
  }

  /**
   * Checks that what a dead member held is there as it was, and frees it, now or after the next proof.
   */
  bury(member, freeNow) {
    this.#members.delete(member);
    const objects = member.ledger.objects();
    for (const object of objects) {
      check(this.arena, object);
      if (this.arena.usableSize(object.pointer) < object.bytes) {
        throw new Error(`an object of ${object.bytes} bytes has become smaller`);
      }
      if (freeNow) {
        this.arena.free(object.pointer);
      }
    }
    this.counts.found += objects.length;
    if (!freeNow) {
      this.#estates.push(...objects);
    }
    this.#leaving.push(...member.ledger.leaving());
    this.#inFlight += MOST_IN_FLIGHT;
  }

  /** Has all of some members pause. */
  async pause(members) {
    members.forEach(({ control }) => control.set('pause', 1));
    const moving = () =>
      members.filter(({ agent, control }) => !agent.said('') && control.get('paused') === 0);
    const steps = () => moving().map(({ control }) => control.get('steps'));
    await until(() => `all pause: ${steps()} steps`, () => moving().length === 0);
  }

  /** Has all pause, proves the arena, frees what the dead had left, and has all go on. */
  async prove() {
    const members = [...this.#members];
    await this.pause(members);
    // An agent that died without a seat that it knew of is in nobody's report.
    const seats = 1 + members.reduce((sum, { control }) => sum + control.get('seats'), 0);
    const taken = () => this.arena.stats().workers;
    await until(() => `${seats} seats are taken, and ${taken()} are`, () => taken() === seats);
    this.#proveIdle(members);
    members.forEach(({ control }) => control.wake());
  }

  #proveIdle(members) {
    const { arena } = this;
    const exchange = new Exchange(this.#exchange);
    const pointers = new Map(this.#estates.map((object) => [object.pointer, object]));
    for (const object of members.flatMap(({ ledger }) => ledger.objects())) {
      if (pointers.has(object.pointer)) {
        throw new Error(`two own the object at 0x${object.pointer.toString(16)}`);
      }
      pointers.set(object.pointer, object);
    }
    const handed = exchange.pointers().map((pointer) => ({ pointer, ...this.#read(pointer) }));
    const orphans = prove(arena, {
      objects: [...pointers.values(), ...handed],
      leaving: this.#leaving,
      most: this.#inFlight,
    });
    orphans.forEach((pointer) => arena.free(pointer));
    this.#estates.forEach(({ pointer }) => arena.free(pointer));
    this.counts.orphans += orphans.length;
    this.counts.proofs += 1;
    this.#estates = [];
    this.#leaving = [];
    this.#inFlight = 0;
  }

  #read(pointer) {
    const [bytes, mark] = new Uint32Array(this.arena.u8(pointer, 8).buffer, pointer, 2);
    return { bytes, mark };
  }

  /** Has all end by themselves, frees what nobody holds any more, and proves that nothing is left. */
  async dismiss() {
    const members = [...this.#members];
    members.forEach(({ control }) => control.set('end', 1));
    const working = () => members.filter(({ agent }) => !agent.said('done'));
    await until(() => `${working().length} workers end`, () => working().length === 0);
    const exchange = new Exchange(this.#exchange);
    exchange.pointers().forEach((pointer) => this.arena.free(pointer));
    exchange.clear();
    this.#members.clear();
    this.#proveIdle([]);
    this.arena.flush();
    if (this.arena.verify().allocatedObjects !== 0) {
      throw new Error('something is allocated after all');
    }
    members.forEach(({ agent }) => agent.terminate());
  }
}
