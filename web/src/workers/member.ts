/** One Web Worker of the crew, and the requests that it has not answered yet. */
import type { ErrorReport } from '../model/error_report.ts';
import type { Command, Reply, Request } from './protocol.ts';

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

interface Waiting {
  resolve: (slot: number | undefined) => void;
  reject: (failure: WorkerFailure) => void;
}

export class Member {
  readonly #worker: Worker;
  readonly #number: number;
  readonly #waiting = new Map<number, Waiting>();
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

  /** Sends a command; resolves with the worker's slot when it is done, with nothing if it was ended. */
  send(command: Command): Promise<number | undefined> {
    this.#lastRequest += 1;
    const request: Request = { id: this.#lastRequest, command };
    return new Promise((resolve, reject) => {
      this.#waiting.set(request.id, { resolve, reject });
      this.#worker.postMessage(request);
    });
  }

  /** Ends the worker, whatever it does, without a word to it. */
  terminate(): void {
    this.#worker.terminate();
    for (const { resolve } of this.#waiting.values()) {
      resolve(undefined);
    }
    this.#waiting.clear();
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
