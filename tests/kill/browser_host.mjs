/** Workers as a page's Web Workers: their deaths are known by a Web Lock that each holds for life. */
import { now } from './clock.mjs';

export const name = navigator.userAgent.includes('Firefox') ? 'firefox' : 'chrome';
/** Workers that are killed side by side: Chromium gives each two seconds if it is busy. */
export const CROWD = 6;
/** The ways in which a worker ends. */
export const ENDS = ['terminate', 'terminate', 'terminate', 'exit'];

let agents = 0;

export class Agent {
  #worker;
  #messages = [];

  constructor(role, options) {
    const lock = `kill:${(agents += 1)}`;
    this.#worker = new Worker(new URL('./browser_worker.mjs', import.meta.url), { type: 'module' });
    this.#worker.onerror = ({ message, filename, lineno }) =>
      (this.failure = new Error(`${message} (${filename}:${lineno})`));
    /** Resolves once it holds its lock. */
    this.online = new Promise((resolve) => {
      this.#worker.onmessage = ({ data }) => {
        this.#messages.push(data);
        if (data === 'online') {
          resolve();
        }
        if (data?.error !== undefined) {
          this.failure = new Error(data.error);
        }
      };
    });
    /** Resolves once its death is known, with the time. */
    this.known = this.online.then(() => navigator.locks.request(lock, () => now()));
    this.known.then(() => (this.dead = true));
    this.#worker.postMessage({ lock, role, options });
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
    this.#worker.terminate();
  }
}
