/** The calls about the deaths of agents: reap, watch, vouch. */
import { isUnsigned } from './argument.js';
import { ArenaError, shown } from './error.js';
import { holdLock, lifeLock, memoryName } from './life.js';
import type { NodeWorker } from './node_threads.js';
import { NOTHING, type Reaped } from './reap.js';
import { findAgent, identity, reapDead, setLife } from './realm.js';
import { LIFE_LOCK, LIFE_UNKNOWN } from './registry.js';
import { slotAgent } from './snapshot.js';
import { Statics } from './statics.js';
import { ThreadWatch } from './watch_threads.js';

/** Reaps the agent in a slot of the arena at `header`, if it has ended. @internal */
export async function reapSlot(
  memory: WebAssembly.Memory,
  header: number,
  slot: number,
): Promise<Reaped> {
  const agent = agentIn('reap', memory, header, slot);
  if (agent === 0) {
    return { ...NOTHING };
  }
  const record = findAgent(agent);
  const { watch, agent: self } = identity();
  const isDead =
    agent !== self && record !== undefined && (await watch?.isDead(record)) === true;
  if (isDead) {
    return (await reapDead(agent)).get(header) ?? { ...NOTHING };
  }
  if (agentIn('reap', memory, header, slot) !== agent) {
    // It has left meanwhile, by itself or reaped by somebody else.
    return { ...NOTHING };
  }
  throw new ArenaError(
    'Live',
    agent === self
      ? `reap(${slot}): this agent's own seat; detach() gives it up`
      : `reap(${slot}): agent ${agent} sits there and is not known to have ended; in Node, its worker ` +
        'must be one that this agent watches',
  );
}

/** @internal */
export function watchWorker(worker: NodeWorker): void {
  const { watch } = identity();
  if (watch instanceof ThreadWatch) {
    watch.watch(worker);
  }
}

/** Answers for the agent in a slot of the arena at `header`. @internal */
export async function vouchFor(
  memory: WebAssembly.Memory,
  header: number,
  slot: number,
): Promise<() => void> {
  const agent = agentIn('vouch', memory, header, slot);
  const record = findAgent(agent);
  if (record?.life !== LIFE_UNKNOWN) {
    throw new ArenaError(
      'InvalidOption',
      record === undefined
        ? `vouch(${slot}): nobody sits there`
        : `vouch(${slot}): agent ${agent} makes its death known by itself; this is for AudioWorklets`,
    );
  }
  const release = await holdLock(lifeLock(memoryName(new Statics(memory)), agent));
  if (release === undefined) {
    throw new ArenaError(
      'InvalidOption',
      `vouch(${slot}): this agent has no Web Locks; call it in the page`,
    );
  }
  setLife(record, LIFE_LOCK);
  return release;
}

/** The number of the agent in a slot; 0: nobody. */
function agentIn(call: string, memory: WebAssembly.Memory, header: number, slot: unknown): number {
  const agent = isUnsigned(slot) ? slotAgent(memory, header, slot) : undefined;
  if (agent === undefined) {
    throw new ArenaError('NoSlot', `${call}(${shown(slot)}): the arena has no such seat`);
  }
  return agent;
}
