/**
 * Reaping: taking in what an agent that has ended left in this memory.
 *
 * In this order: in every arena, the module's own first, the locks that it held, what it was doing behind them, what it
 * cached, its seats; then its turn, if it ended while it was starting; then its stack and
 * thread-local data, and its record. Each step may be done twice, or by two realms at once, and one
 * that ends in the middle leaves the record, so the next who finds it starts again.
 *
 * Nobody waits for a lock here, since it may be that of yet another agent that has ended: a heap that
 * stays busy is tried again by a timer.
 */
import { readFigures } from './answer.js';
import { FACTS } from './generated/facts.js';
import * as glue from './glue/warena_wasm.js';
import { freeStack, type Instance } from './instance.js';
import type { News } from './news.js';
import type { Registry } from './registry.js';
import { pause, type Statics } from './statics.js';
import { recoverTurn } from './turn.js';

/** What an agent had left behind in an arena. */
export interface Reaped {
  /** Seats that it had, free again. */
  slots: number;
  /** Objects that it had cached or was moving, back in the heap. */
  objects: number;
  /** Bytes of their blocks. */
  bytes: number;
  /** Whether it had held the heap's lock, and the heap was rebuilt. */
  recoveredHeap: boolean;
  /** Transfer caches whose locks it had held. */
  recoveredTransfers: number;
  /** Free blocks that were listed anew. */
  listedBlocks: number;
  /** Chunks that it was taking from the memory or giving back. */
  reclaimedChunks: number;
}

/** What listeners are told. */
export interface ReapReport extends Reaped {
  /** The number of the agent that had ended. */
  agent: number;
}

/** Nothing was left. @internal */
export const NOTHING: Readonly<Reaped> = FACTS.reaped;

/** Milliseconds until a busy heap is tried again: at first, and at most. */
const RETRY = { first: 1, most: 50 };

/** Who reaps, on what. @internal */
export interface Reaper {
  readonly agent: number;
  readonly memory: WebAssembly.Memory;
  readonly instance: Instance;
  readonly statics: Statics;
  readonly registry: Registry;
  readonly news: News;
}

/** Reaps an agent, which has ended; what it had left in each arena, by the arena's header. @internal */
export async function reapAgent(reaper: Reaper, agent: number): Promise<Map<number, Reaped>> {
  const { memory, statics, registry, news, instance } = reaper;
  const found = new Map<number, Reaped>();
  // The module's own heap first: what the rest allocates comes from there.
  for (let number = 0, header; (header = glue.heap_header(number)) !== 0; number += 1) {
    await reapArena(memory, header, agent);
  }
  // An arena that is made meanwhile comes first and moves the others by one: none is passed over.
  for (let index = 0, header; (header = glue.arena_header(index)) !== 0; index += 1) {
    const reaped = await reapArena(memory, header, agent);
    if (reaped.slots > 0 || reaped.recoveredHeap || reaped.recoveredTransfers > 0) {
      found.set(header, reaped);
      news.tell(header, { agent, ...reaped });
    }
  }
  recoverTurn(statics, agent, reaper.agent);
  const record = registry.find(agent);
  if (record !== undefined) {
    const taken = registry.takeStack(record.index);
    if (taken !== undefined) {
      freeStack(instance, taken.stack, taken.threadLocalData);
    }
    registry.release(record);
  }
  return found;
}

async function reapArena(
  memory: WebAssembly.Memory,
  header: number,
  agent: number,
): Promise<Reaped> {
  for (let delay = RETRY.first; !glue.reap_agent(header, agent, false);) {
    await pause(delay);
    delay = Math.min(delay * 2, RETRY.most);
  }
  return readFigures(memory, FACTS.reaped);
}
