/**
 * What this agent's death will be known by, and how others can be told dead.
 *
 * Nobody can ask a thread whether it is still there. What can be known:
 *
 * | agent | known by |
 * | --- | --- |
 * | page, Web Worker | a Web Lock with its number in the name, which it holds for as long as it lives: a request for it is granted at its death, and never before |
 * | Node thread | the `exit` event that whoever created the thread gets |
 * | AudioWorklet | nothing; a page can hold that lock on its behalf |
 *
 * The lock is held, or the thread known, before the agent takes anything.
 */
import { FACTS } from './generated/facts.js';
import type { NodeThreads } from './node_threads.js';
import { LIFE_LOCK, LIFE_UNKNOWN, lifeOfThread } from './registry.js';
import type { Statics } from './statics.js';

const { name } = FACTS.agents;
/** The name under which a Node thread tells those that it creates which thread it is. */
const PARENT = 'warena:parent';

/** What is known of a life. @internal */
export interface Life {
  readonly life: number;
  /** The same of the agent that created this one, and cannot outlive. */
  readonly parent: number;
}

/** Draws a name for a memory that is new. @internal */
export function nameMemory(statics: Statics): void {
  for (const address of [name, name + 4]) {
    statics.store(address, Math.floor(Math.random() * 2 ** 32));
  }
}

/** The name of a memory, by which its agents find each other outside of it. @internal */
export function memoryName(statics: Statics): string {
  const digits = [name, name + 4].map((address) => statics.load(address).toString(16));
  return `warena:${digits.map((word) => word.padStart(8, '0')).join('')}`;
}

/** The name of the lock that an agent holds for life. @internal */
export function lifeLock(memory: string, agent: number): string {
  return `${memory}:${agent}`;
}

/** This realm's Web Locks; none in Node, in a worklet, and where the page may not use them. @internal */
export function webLocks(): LockManager | undefined {
  return (globalThis.navigator as Navigator | undefined)?.locks as LockManager | undefined;
}

/** Makes this agent's death something that others can know. @internal */
export async function beginLife(
  memory: string,
  agent: number,
  threads: NodeThreads | undefined,
): Promise<Life> {
  if (threads !== undefined) {
    const parent = threads.getEnvironmentData(PARENT);
    threads.setEnvironmentData(PARENT, threads.threadId);
    return {
      life: lifeOfThread(threads.threadId),
      parent: typeof parent === 'number' ? lifeOfThread(parent) : LIFE_UNKNOWN,
    };
  }
  const held = await holdLock(lifeLock(memory, agent));
  return { life: held === undefined ? LIFE_UNKNOWN : LIFE_LOCK, parent: LIFE_UNKNOWN };
}

/** Holds a lock until the function that comes back is called; none where there are no locks. @internal */
export async function holdLock(lock: string): Promise<(() => void) | undefined> {
  const locks = webLocks();
  if (locks === undefined) {
    return undefined;
  }
  return new Promise((resolve) => {
    const held = () => new Promise<void>((release) => resolve(release));
    // A sandboxed page may not use them: then its death cannot be known, and nothing else is wrong.
    locks.request(lock, held).catch(() => resolve(undefined));
  });
}
