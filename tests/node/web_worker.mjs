/**
 * The Web Worker interface on top of worker_threads, as far as the examples use it, so that an
 * example for pages runs here as it stands: `node --import ./web_worker.mjs main.js`.
 */
import { Worker as Thread, isMainThread, parentPort } from 'node:worker_threads';

if (isMainThread) {
  globalThis.Worker = class {
    #thread;

    constructor(url) {
      this.#thread = new Thread(url);
    }

    postMessage(message) {
      this.#thread.postMessage(message);
    }

    set onmessage(listener) {
      this.#thread.on('message', (data) => {
        listener({ data });
        this.#thread.terminate();
      });
    }
  };
} else {
  globalThis.self = {
    postMessage: (message) => parentPort.postMessage(message),
    set onmessage(listener) {
      parentPort.on('message', (data) => listener({ data }));
    },
  };
}
