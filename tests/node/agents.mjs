/**
 * Runs jobs (jobs.mjs) in worker_threads, each attached to the same arena by its handle, and
 * scripts in Node processes of their own.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

/** A job in a worker_thread of its own. */
export class Agent {
  #worker;
  #messages = [];

  /** Starts `job` with these options. */
  constructor(job, handle, options = {}) {
    this.#worker = new Worker(new URL('./agent.mjs', import.meta.url), {
      workerData: { job, handle, options },
    });
    this.#worker.on('message', (message) => this.#messages.push(message));
    // A failure is told by `ended`: 'exit' always follows 'error'.
    this.#worker.on('error', (error) => (this.failure = error));
    /** Resolves once the thread runs. */
    this.online = new Promise((resolve) => this.#worker.once('online', resolve));
    /** Resolves once the thread has ended. */
    this.ended = new Promise((resolve) => this.#worker.once('exit', resolve));
  }

  /** The next thing that the job posts. */
  async message() {
    while (this.#messages.length === 0) {
      await new Promise((resolve) => {
        this.#worker.once('message', resolve);
        this.#worker.once('exit', resolve);
      });
      if (this.failure !== undefined) {
        throw this.failure;
      }
    }
    return this.#messages.shift();
  }

  /** What the job returns, once the thread has ended. */
  async result() {
    await this.ended;
    if (this.failure !== undefined) {
      throw this.failure;
    }
    return this.#messages.at(-1);
  }

  /** Ends the thread wherever it is; resolves once it has. */
  async kill() {
    await Promise.all([this.#worker.terminate(), this.ended]);
  }
}

/** Runs `job` in a worker_thread with these options; settles once that thread has ended. */
export function runJob(job, handle, options = {}) {
  return new Agent(job, handle, options).result();
}

/** Runs `job` in `count` threads at once, each with its number as `options.agent`. */
export function runJobs(count, job, handle, options = {}) {
  const agents = Array.from({ length: count }, (_, agent) => agent);
  return Promise.all(
    agents.map((agent) => runJob(job, handle, { ...options, agent, agents: count })),
  );
}

/** Runs a script as a process that must end by itself; its output, exit code and milliseconds. */
export function runScript(script, { cwd = fileURLToPath(new URL('.', import.meta.url)) } = {}) {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const node = spawn(process.execPath, ['--input-type=module', '--eval', script], { cwd });
    let output = '';
    node.stdout.on('data', (data) => (output += data));
    node.stderr.on('data', (data) => (output += data));
    node.on('error', reject);
    node.on('exit', (code) => resolve({ output, code, milliseconds: performance.now() - started }));
  });
}
