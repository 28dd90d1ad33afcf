/** Workers as Node's worker_threads: their deaths are known by their `exit` event. */
import { Worker } from 'node:worker_threads';
import { now } from './clock.mjs';

export const name = 'node';
/** Workers that are killed side by side. */
export const CROWD = 4;
/** The ways in which a worker ends. */
export const ENDS = ['terminate', 'terminate', 'exit'];

export class Agent {
  #worker;
  #messages = [];

  constructor(role, options) {
    this.#worker = new Worker(new URL('./node_worker.mjs', import.meta.url), {
      workerData: { role, options },
    });
    this.#worker.on('message', (message) => this.#messages.push(message));
    this.#worker.on('error', (error) => (this.failure = error));
    /** Resolves once its thread runs. */
    this.online = new Promise((resolve) => this.#worker.once('online', resolve));
    /** Resolves once its death is known, with the time. */
    this.known = new Promise((resolve) => this.#worker.once('exit', () => resolve(now())));
    this.known.then(() => (this.dead = true));
  }

  /** Whether it has posted this. */
  said(message) {
    if (this.failure !== undefined) {
      throw this.failure;
    }
    return this.#messages.includes(message);
  }

  /** What it has posted under this name. */
  figure(name) {
    return this.#messages.find((message) => message?.[name] !== undefined)?.[name];
  }

  terminate() {
    void this.#worker.terminate();
  }
}
