/** The script of a worker_thread: runs the job that it was started with and posts what it returns. */
import { parentPort, workerData } from 'node:worker_threads';
import * as deaths from './deaths.mjs';
import * as hits from './hits.mjs';
import * as jobs from './jobs.mjs';

const { job, handle, options } = workerData;
parentPort.postMessage(await { ...jobs, ...deaths, ...hits }[job](handle, options));
