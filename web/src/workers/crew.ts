/**
 * The crew: the page's side of the producers, one Web Worker each. Commands go to all of them at
 * once, and a command is done when every worker has answered or was ended; while they run, the
 * control block steers them. A worker that was ended is left out until another one is put in its place.
 */
import type { ArenaHandle } from 'warena';
import { ControlBlock } from '../model/control_block.ts';
import { heldObjects, takeObjects, type HeldObject } from '../model/held_objects.ts';
import { Load } from './load.ts';
import { Member, type NoteListener } from './member.ts';
import type { Command, Work } from './protocol.ts';

/** All producers of one arena. */
export class Crew {
  readonly control: ControlBlock;
  readonly #handle: ArenaHandle;
  readonly #onNote: NoteListener;
  /** By the worker's number; undefined where it was ended and nobody is in its place. */
  readonly #members: (Member | undefined)[];
  #works: readonly Work[] = [];
  #load: Load | undefined;

  /** `workers` workers for the arena of a handle. */
  constructor(workers: number, handle: ArenaHandle, onNote: NoteListener) {
    this.control = ControlBlock.create(workers);
    this.#handle = handle;
    this.#onNote = onNote;
    this.#members = Array.from({ length: workers }, (_, number) => new Member(number, onNote));
  }

  get size(): number {
    return this.#members.length;
  }

  /** Gives every worker its slot in the arena; which one, by the worker's number. */
  async attach(): Promise<number[]> {
    const slots = await this.#sendAll((worker) => this.#attachment(worker));
    return slots.map((slot) => slot!);
  }

  /** Gives worker w the work `works[w]`. What they held must have been released. */
  async assign(works: readonly Work[]): Promise<void> {
    this.#works = works;
    if (this.#members.every((member) => member !== undefined)) {
      this.control.startAnew();
    }
    await this.#sendAll((worker) => ({ do: 'assign', work: works[worker]! }));
  }

  /** Runs until `stop`, or for so many cycles. The first failure stops all. */
  async run(cycles: number): Promise<void> {
    const load = new Load(cycles, () => this.stop());
    this.#load = load;
    this.control.run();
    try {
      this.#members.forEach((member) => member && load.join(member.send({ do: 'run', cycles })));
      await load.over();
    } finally {
      this.#load = undefined;
      this.control.stop();
    }
  }

  /** Stops all workers; `run` returns soon after. */
  stop(): void {
    this.control.stop();
    this.#load?.stop();
  }

  /** Frees all that the work holds, but for that of workers that were ended. */
  async release(): Promise<void> {
    await this.#sendAll(() => ({ do: 'release' }));
  }

  /** Gives all slots back. */
  async detach(): Promise<void> {
    await this.#sendAll(() => ({ do: 'detach' }));
  }

  /** Ends a worker at whatever instruction it is. */
  end(worker: number): void {
    this.#members[worker]?.terminate();
    this.#members[worker] = undefined;
    this.control.leaveOut(worker);
  }

  /**
   * Puts a new worker in the place of one that was ended and whose objects were taken over, and lets
   * it join the run; its slot.
   */
  async replace(worker: number): Promise<number> {
    const member = new Member(worker, this.#onNote);
    try {
      const slot = await member.send(this.#attachment(worker));
      const work = this.#works[worker];
      if (work !== undefined) {
        await member.send({ do: 'assign', work });
      }
      this.#members[worker] = member;
      this.control.takeIn(worker);
      this.#load?.join(member.send({ do: 'run', cycles: this.#load.cycles }));
      return slot!;
    } catch (error) {
      member.terminate();
      throw error;
    }
  }

  /** The objects that all workers hold, for a moment when nobody runs. */
  heldObjects(): HeldObject[] {
    return this.#works.flatMap((work, worker) => heldObjects(work, worker));
  }

  /** Takes over the objects that a worker held which has ended. */
  takeObjects(worker: number): HeldObject[] {
    const work = this.#works[worker];
    return work === undefined ? [] : takeObjects(work, worker);
  }

  /** Ends the workers, whatever they do. */
  terminate(): void {
    this.#members.forEach((member) => member?.terminate());
  }

  #attachment(worker: number): Command {
    return { do: 'attach', handle: this.#handle, control: this.control.buffer, worker };
  }

  /** Sends a command to each and waits for all of them, also when one fails. */
  async #sendAll(command: (worker: number) => Command): Promise<(number | undefined)[]> {
    const replies = await Promise.allSettled(
      this.#members.map((member, worker) => member?.send(command(worker))),
    );
    return replies.map((reply) => {
      if (reply.status === 'rejected') {
        throw reply.reason;
      }
      return reply.value;
    });
  }
}
