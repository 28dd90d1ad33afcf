/** Node's threads, where this realm is one of them. */

/** A Worker of `node:worker_threads`, as far as its death is concerned. */
export interface NodeWorker {
  /** Its number; −1 once it has ended. */
  readonly threadId: number;
  once(event: 'exit', listener: () => void): unknown;
}

/** What is used of `node:worker_threads`. @internal */
export interface NodeThreads {
  readonly threadId: number;
  readonly isMainThread: boolean;
  getEnvironmentData(key: string): unknown;
  setEnvironmentData(key: string, value: unknown): void;
}

/** What is used of `process`. @internal */
export interface NodeProcess {
  readonly versions?: { readonly node?: string };
  on(event: 'worker', listener: (worker: NodeWorker) => void): unknown;
}

/** Node's process; none anywhere else. @internal */
export function nodeProcess(): NodeProcess | undefined {
  const { process } = globalThis as { process?: NodeProcess };
  return process?.versions?.node === undefined ? undefined : process;
}

/** Node's threads; none anywhere else. @internal */
export async function nodeThreads(): Promise<NodeThreads | undefined> {
  if (nodeProcess() === undefined) {
    return undefined;
  }
  // Not a constant, so that bundlers for the web do not look for it.
  const module = 'node:worker_threads';
  return (await import(/* webpackIgnore: true */ /* @vite-ignore */ module)) as NodeThreads;
}
