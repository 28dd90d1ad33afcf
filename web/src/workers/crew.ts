/**
 * The crew: the page's side of the producers, one Web Worker each. Commands go to all of them at
 * once, and a command is done when every worker has answered; while they run, the control block
 * steers them.
 */
import type { ArenaHandle } from 'warena';
import { ControlBlock } from '../model/control_block.ts';
import type { ErrorReport } from '../model/error_report.ts';
import type { Command, Reply, Request, Work } from './protocol.ts';

/** What a worker may say while it goes on running. */
export type NoteListener = (worker: number, note: Extract<Reply, { say: 'note' }>) => void;

/** A command that a worker could not carry out. */
export class WorkerFailure extends Error {
  readonly report: ErrorReport;

  constructor(worker: number, report: ErrorReport) {
    super(report.message);
    this.name = 'WorkerFailure';
    this.report = { title: `Worker ${worker} · ${report.title}`, message: report.message };
  }
}

/** One Web Worker and the requests that it has not answered yet. */
class Member {
  readonly #worker: Worker;
  readonly #number: number;
  readonly #waiting = new Map<
    number,
    { resolve: (slot: number) => void; reject: (failure: WorkerFailure) => void }
  >();
  #lastRequest = 0;

  constructor(number: number, onNote: NoteListener) {
    this.#number = number;
    this.#worker = new Worker(new URL('./producer.ts', import.meta.url), {
      type: 'module',
      name: `producer ${number}`,
    });
    this.#worker.addEventListener('message', ({ data }: MessageEvent<Reply>) => {
      if (data.say === 'note') {
        onNote(number, data);
      } else {
        this.#settle(data);
      }
    });
    // A module that cannot be loaded, or an error outside of any request: nobody else would answer.
    this.#worker.addEventListener('error', (event) => {
      this.#failAll({ title: 'Error', message: event.message || 'the worker could not be loaded' });
    });
    this.#worker.addEventListener('messageerror', () => {
      this.#failAll({ title: 'DataCloneError', message: 'a message could not be read' });
    });
  }

  /** Sends a command; resolves with the worker's slot when it is done. */
  send(command: Command): Promise<number> {
    this.#lastRequest += 1;
    const request: Request = { id: this.#lastRequest, command };
    return new Promise((resolve, reject) => {
      this.#waiting.set(request.id, { resolve, reject });
      this.#worker.postMessage(request);
    });
  }

  terminate(): void {
    this.#worker.terminate();
    this.#failAll({ title: 'Terminated', message: 'the worker was terminated' });
  }

  #settle(reply: Extract<Reply, { id: number }>): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (reply.say === 'done') {
      waiting?.resolve(reply.slot);
    } else {
      waiting?.reject(new WorkerFailure(this.#number, reply.error));
    }
  }

  #failAll(report: ErrorReport): void {
    for (const { reject } of this.#waiting.values()) {
      reject(new WorkerFailure(this.#number, report));
    }
    this.#waiting.clear();
  }
}

/** All producers of one arena. */
export class Crew {
  readonly control: ControlBlock;
  readonly #members: Member[];
  /** The slot of each worker in the arena, by the worker's number; empty before `attach`. */
  slots: number[] = [];

  constructor(workers: number, onNote: NoteListener) {
    this.control = ControlBlock.create(workers);
    this.#members = Array.from({ length: workers }, (_, number) => new Member(number, onNote));
  }

  get size(): number {
    return this.#members.length;
  }

  /** Gives every worker its slot in the arena. */
  async attach(handle: ArenaHandle): Promise<void> {
    this.slots = await this.#sendAll((worker) => ({
      do: 'attach',
      handle,
      control: this.control.buffer,
      worker,
    }));
  }

  /** Gives worker w the work `works[w]`. */
  async assign(works: readonly Work[]): Promise<void> {
    await this.#sendAll((worker) => ({ do: 'assign', work: works[worker]! }));
  }

  /** Runs until `stop`, or for so many cycles. The first failure stops all. */
  async run(cycles: number): Promise<void> {
    this.control.run();
    try {
      await this.#sendAll(() => ({ do: 'run', cycles }), () => this.control.stop());
    } finally {
      this.control.stop();
    }
  }

  /** Stops all workers; `run` returns soon after. */
  stop(): void {
    this.control.stop();
  }

  /** Frees all that the work holds. */
  async release(): Promise<void> {
    await this.#sendAll(() => ({ do: 'release' }));
  }

  /** Gives all slots back. */
  async detach(): Promise<void> {
    await this.#sendAll(() => ({ do: 'detach' }));
  }

  /** Ends the workers, whatever they do. */
  terminate(): void {
    for (const member of this.#members) {
      member.terminate();
    }
  }

  /** Sends a command to each and waits for all of them, also when one fails. */
  async #sendAll(
    command: (worker: number) => Command,
    onFailure: () => void = () => undefined,
  ): Promise<number[]> {
    const replies = await Promise.allSettled(
      this.#members.map((member, worker) =>
        member.send(command(worker)).catch((failure: unknown) => {
          onFailure();
          throw failure;
        }),
      ),
    );
    return replies.map((reply) => {
      if (reply.status === 'rejected') {
        throw reply.reason;
      }
      return reply.value;
    });
  }
}
