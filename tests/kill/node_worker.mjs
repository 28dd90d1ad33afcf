/** The script of a worker in Node. */
import { parentPort, workerData } from 'node:worker_threads';
import { Agent } from './node_host.mjs';
import { ROLES } from './roles.mjs';

const host = {
  post: (message) => parentPort.postMessage(message),
  tick: () => new Promise((resolve) => setImmediate(resolve)),
  exit: () => process.exit(0),
  start: (role, options) => new Agent(role, options),
};
await ROLES[workerData.role](host, workerData.options);
