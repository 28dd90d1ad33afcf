/** The script of a worker in a browser. */
import { Agent } from './browser_host.mjs';
import { ROLES } from './roles.mjs';

/** Thrown where the worker has closed itself: the browser lets its script run on otherwise. */
class Closed extends Error {}

const { port1, port2 } = new MessageChannel();

const host = {
  post: (message) => self.postMessage(message),
  tick: () =>
    new Promise((resolve) => {
      port1.onmessage = resolve;
      port2.postMessage(0);
    }),
  start: (role, options) => new Agent(role, options),
  exit: () => {
    self.close();
    throw new Closed();
  },
};

self.onmessage = ({ data: { lock, role, options } }) => {
  void navigator.locks.request(lock, async () => {
    self.postMessage('online');
    try {
      await ROLES[role](host, options);
    } catch (error) {
      if (!(error instanceof Closed)) {
        self.postMessage({ error: `${error.message}\n${error.stack}` });
      }
    }
    await new Promise(() => {});
  });
};
