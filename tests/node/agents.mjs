/**
 * Runs jobs (jobs.mjs) in worker_threads, each attached to the same arena by its handle, and
 * scripts in Node processes of their own.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

/** Runs `job` in a worker_thread with these options; settles once that thread has ended. */
export function runJob(job, handle, options = {}) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./agent.mjs', import.meta.url), {
      workerData: { job, handle, options },
    });
    let result;
    worker.on('message', (message) => (result = message));
    worker.on('error', reject);
    worker.on('exit', () => resolve(result));
  });
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
