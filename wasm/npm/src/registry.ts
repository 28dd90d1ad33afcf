/**
 * The table of the agents that are started on a memory: who they are, what their death is known by,
 * and what they took from the memory that whoever reaps them gives back.
 *
 * A record belongs to whoever put a number into it. So an agent enters itself by one exchange, and
 * of several who find it dead one clears it.
 *
 * | word | meaning |
 * | --- | --- |
 * | agent | its number; 0: the record is free; `CLEARING`: somebody is freeing it |
 * | life, parent | see {@link lifeOfThread} and its like |
 * | stack, threadLocalData | addresses; 0: none, or somebody has taken them in order to free them |
 */
import { ArenaError } from './error.js';
import { FACTS } from './generated/facts.js';
import type { Statics } from './statics.js';

const { agents: layout } = FACTS;

/** The mark of a record that is being cleared: no agent's number. */
const CLEARING = 2 ** 32 - 1;

/** Nothing tells of this agent's death. @internal */
export const LIFE_UNKNOWN = 0;
/** A Web Lock does, which the agent holds for as long as it lives. @internal */
export const LIFE_LOCK = 1;
/** The end of a Node thread does. @internal */
export function lifeOfThread(threadId: number): number {
  return threadId + 2;
}

/** An agent in the table. @internal */
export interface AgentRecord {
  readonly index: number;
  readonly agent: number;
  readonly life: number;
  readonly parent: number;
}

/** @internal */
export class Registry {
  readonly #statics: Statics;

  constructor(statics: Statics) {
    this.#statics = statics;
  }

  /** Enters an agent; where. */
  claim(agent: number, life: number, parent: number): number {
    const statics = this.#statics;
    for (let index = 0; index < layout.maxAgents; index += 1) {
      if (statics.replace(word(index, layout.recordAgent), 0, agent)) {
        statics.store(word(index, layout.recordParent), parent);
        statics.store(word(index, layout.recordLife), life);
        for (
          let used = statics.load(layout.used);
          used <= index && !statics.replace(layout.used, used, index + 1);
          used = statics.load(layout.used)
        );
        this.announce();
        return index;
      }
    }
    throw new ArenaError(
      'NoSlot',
      `${layout.maxAgents} agents are started on this memory, which is the most; detach some, or make ` +
        'sure that the deaths of others are seen',
    );
  }

  /** Says that there is somebody else to watch. */
  announce(): void {
    this.#statics.increment(layout.changes);
    this.#statics.notify(layout.changes);
  }

  /** What it took from the memory. */
  setStack(index: number, stack: number, threadLocalData: number): void {
    this.#statics.store(word(index, layout.recordThreadLocalData), threadLocalData);
    this.#statics.store(word(index, layout.recordStack), stack);
  }

  /** What it took from the memory, for the one caller that may free it. */
  takeStack(index: number): { stack: number; threadLocalData: number } | undefined {
    const stack = this.#statics.load(word(index, layout.recordStack));
    const threadLocalData = this.#statics.load(word(index, layout.recordThreadLocalData));
    const taken = stack !== 0 && this.#statics.replace(word(index, layout.recordStack), stack, 0);
    return taken ? { stack, threadLocalData } : undefined;
  }

  /** Says what the death of an agent is known by from now on. */
  setLife(index: number, life: number): void {
    this.#statics.store(word(index, layout.recordLife), life);
    this.announce();
  }

  /** Clears the record of an agent, if it is there. */
  release({ index, agent }: Pick<AgentRecord, 'index' | 'agent'>): void {
    const statics = this.#statics;
    const owner = word(index, layout.recordAgent);
    if (statics.replace(owner, agent, CLEARING)) {
      for (const offset of [
        layout.recordLife,
        layout.recordParent,
        layout.recordStack,
        layout.recordThreadLocalData,
      ]) {
        statics.store(word(index, offset), 0);
      }
      statics.store(owner, 0);
    }
  }

  /** All agents. */
  *all(): Generator<AgentRecord> {
    const used = this.#statics.load(layout.used);
    for (let index = 0; index < used; index += 1) {
      const agent = this.#statics.load(word(index, layout.recordAgent));
      if (agent !== 0 && agent !== CLEARING) {
        const life = this.#statics.load(word(index, layout.recordLife));
        const parent = this.#statics.load(word(index, layout.recordParent));
        yield { index, agent, life, parent };
      }
    }
  }

  /** The record of an agent. */
  find(agent: number): AgentRecord | undefined {
    for (const record of this.all()) {
      if (record.agent === agent) {
        return record;
      }
    }
    return undefined;
  }
}

function word(index: number, offset: number): number {
  return layout.records + index * layout.recordBytes + offset;
}
