/**
 * News of the dead: whoever reaps an agent tells every realm that listens.
 *
 * One realm reaps, and another may want to know; so a report goes to the listeners of this realm and,
 * by a broadcast, to those of the others.
 */
import type { ReapReport } from './reap.js';

interface Listener {
  readonly header: number;
  readonly hear: (report: ReapReport) => void;
}

/** What one realm posts to the others. */
interface Message {
  readonly header: number;
  readonly report: ReapReport;
}

/** @internal */
export class News {
  /** The memory's name, which is that of the broadcast. */
  readonly #memory: string;
  readonly #listeners = new Set<Listener>();
  /** Open while somebody listens. */
  #channel: BroadcastChannel | undefined;

  constructor(memory: string) {
    this.#memory = memory;
  }

  /** Calls `hear` for each report on the arena at `header`, until the function that comes back is called. */
  listen(header: number, hear: (report: ReapReport) => void): () => void {
    const listener = { header, hear };
    this.#listeners.add(listener);
    this.#channel ??= this.#open();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) {
        this.#channel?.close();
        this.#channel = undefined;
      }
    };
  }

  /** Tells everybody. */
  tell(header: number, report: ReapReport): void {
    const message: Message = { header, report };
    this.#hear(message);
    if (this.#channel !== undefined) {
      this.#channel.postMessage(message);
    } else if ('BroadcastChannel' in globalThis) {
      const channel = new BroadcastChannel(this.#memory);
      channel.postMessage(message);
      channel.close();
    }
  }

  #hear({ header, report }: Message): void {
    for (const listener of this.#listeners) {
      if (listener.header === header) {
        // Later, so that a listener that throws keeps nobody from being reaped or told.
        void Promise.resolve().then(() => listener.hear(report));
      }
    }
  }

  #open(): BroadcastChannel | undefined {
    if (!('BroadcastChannel' in globalThis)) {
      return undefined;
    }
    const channel = new BroadcastChannel(this.#memory);
    channel.onmessage = ({ data }: MessageEvent<Message>) => this.#hear(data);
    // In Node, listening alone does not keep a process.
    (channel as { unref?: () => void }).unref?.();
    return channel;
  }
}
