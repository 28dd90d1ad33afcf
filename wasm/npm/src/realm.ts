/**
 * This realm's memory, its agent there, and the module's instance on it.
 *
 * wasm-bindgen's glue holds one instance, so a realm (a page, a frame, a worker) has one memory,
 * made by the first `create` or taken from the first `attach`; any number of arenas share it. What
 * the instance took from the memory is given back when the realm's last arena is detached, so that
 * short-lived workers leave nothing behind.
 *
 * A start goes through these steps, so that from each of them on a death can be dealt with: draw a
 * number; make one's death known (life.ts); watch others; enter the table (registry.ts); take the
 * turn (turn.ts); start the instance; note its stack in the table; end the turn. Then seats are taken.
 */
import { ArenaError, shown } from './error.js';
import { FACTS } from './generated/facts.js';
import * as glue from './glue/warena_wasm.js';
import type { ArenaHandle } from './handle.js';
import { end, makeInstance, startAgain, type Instance } from './instance.js';
import { beginLife, memoryName, nameMemory, webLocks, type Life } from './life.js';
import { askMayBlock, checkIsolation, compile, makeMemory } from './load.js';
import { News } from './news.js';
import { nodeThreads } from './node_threads.js';
import { DEFAULT_MAXIMUM_BYTES } from './options.js';
import { reapAgent, type Reaped } from './reap.js';
import { Registry, type AgentRecord } from './registry.js';
import { isSameMemory } from './same_memory.js';
import { Statics } from './statics.js';
import { endTurn, recoverTurn, takeTurn, tryTurn } from './turn.js';
import { LockWatch } from './watch_locks.js';
import { ThreadWatch } from './watch_threads.js';

/** @internal */
export interface Realm {
  readonly memory: WebAssembly.Memory;
  readonly maximumBytes: number;
  readonly module: WebAssembly.Module;
  /** Whether this agent waits for locks: see {@link watches}. */
  readonly mayWait: boolean;
}

/** A seat in an arena. @internal */
export interface Seat {
  /** The address of the arena's header. */
  readonly header: number;
  /** The address of the slot. */
  readonly seat: number;
}

/** Who this realm is among the agents of its memory. @internal */
export interface Identity {
  readonly agent: number;
  readonly life: Life;
  readonly news: News;
  /** Who tells of deaths; none in a worklet. */
  readonly watch: ThreadWatch | LockWatch | undefined;
}

/** @internal */
export interface OwnRealm extends Realm {
  readonly statics: Statics;
  readonly registry: Registry;
  /** Whether its instance is the memory's first, which has its stack in static memory. */
  readonly isFirst: boolean;
  /** Whether the engine lets this agent block. */
  readonly mayBlock: boolean;
  mayWait: boolean;
  identity: Identity | undefined;
  instance: Instance | undefined;
  /** Whether the instance has its stack and thread-local data. */
  isRunning: boolean;
  /** Whether all of the start was done. */
  started: boolean;
  /** A start that is under way. */
  starting: Promise<void> | undefined;
  /** Where it stands in the table while it is started. */
  record: number;
  /** What needs the instance: seats, and reapings. */
  uses: number;
  readonly seats: Set<number>;
  /** Agents that are being reaped. */
  readonly reapings: Map<number, Promise<Map<number, Reaped>>>;
}

let own: OwnRealm | undefined;

/** The realm, with a memory of its own if it has none yet. @internal */
export async function ownRealm(maximumBytes: number | undefined): Promise<Realm> {
  checkIsolation();
  const module = own?.module ?? (await compile());
  // Looked at again: another call may have made it meanwhile.
  if (own === undefined) {
    const most = maximumBytes ?? DEFAULT_MAXIMUM_BYTES;
    return makeRealm(module, makeMemory(most), most, true);
  }
  if (maximumBytes !== undefined && maximumBytes !== own.maximumBytes) {
    throw new ArenaError(
      'OtherMemory',
      `Arena.create: maximumBytes is ${shown(maximumBytes)}, but this realm has a memory of at most ` +
        `${shown(own.maximumBytes)} bytes already, and only one; leave maximumBytes out to use it, ` +
        'or create the arena in another Worker or frame',
      { bytes: maximumBytes },
    );
  }
  return own;
}

/** The realm, with the memory of a handle that was checked. @internal */
export async function realmOf(handle: ArenaHandle): Promise<Realm> {
  // A module of another realm, or none: the same bytes are here.
  const module =
    handle.module instanceof WebAssembly.Module
      ? handle.module
      : (own?.module ?? (await compile()));
  if (own === undefined) {
    return makeRealm(module, handle.memory, handle.maximumBytes, false);
  }
  if (!isSameMemory(own.memory, handle.memory)) {
    const [theirs, mine] = [new Statics(handle.memory), own.statics].map(memoryName);
    throw new ArenaError(
      'OtherMemory',
      `Arena.attach: the handle is of another memory (${theirs}) than the one that this realm has ` +
        `(${mine}), and it can have only one; attach in another Worker or frame`,
    );
  }
  return own;
}

/** Takes a seat, on an instance that is started. @internal */
export async function enter(attach: () => Seat): Promise<Seat> {
  const realm = current();
  realm.uses += 1;
  try {
    await ensureStarted(realm);
    const taken = attach();
    realm.seats.add(taken.seat);
    return taken;
  } catch (error) {
    release(realm);
    throw error;
  }
}

/** A seat of this realm was given up. @internal */
export function leave(seat: number): void {
  const realm = current();
  realm.seats.delete(seat);
  release(realm);
}

/** Who this realm is, once it has attached. @internal */
export function identity(): Identity {
  return current().identity!;
}

/** The record of an agent of this memory. @internal */
export function findAgent(agent: number): AgentRecord | undefined {
  return current().registry.find(agent);
}

/** Says what the death of an agent is known by from now on. @internal */
export function setLife({ index }: AgentRecord, life: number): void {
  current().registry.setLife(index, life);
}

/** Reaps an agent that has ended; what it left in each arena, by the arena's header. @internal */
export function reapDead(agent: number): Promise<Map<number, Reaped>> {
  const realm = current();
  let reaping = realm.reapings.get(agent);
  if (reaping === undefined) {
    reaping = reapOnce(realm, agent).finally(() => realm.reapings.delete(agent));
    realm.reapings.set(agent, reaping);
  }
  return reaping;
}

async function reapOnce(realm: OwnRealm, dead: number): Promise<Map<number, Reaped>> {
  const { memory, statics, registry } = realm;
  const { agent, news } = realm.identity!;
  if (!realm.started) {
    // Its turn may be what keeps this realm from starting.
    recoverTurn(statics, dead, agent);
  }
  realm.uses += 1;
  try {
    await ensureStarted(realm);
    const instance = realm.instance!;
    return await reapAgent({ agent, memory, instance, statics, registry, news }, dead);
  } finally {
    release(realm);
  }
}

/** This realm's own. @internal */
export function current(): OwnRealm {
  if (own === undefined) {
    throw new ArenaError(
      'CannotLoad',
      'this realm has no memory yet; create or attach an arena first',
    );
  }
  return own;
}

function makeRealm(
  module: WebAssembly.Module,
  memory: WebAssembly.Memory,
  maximumBytes: number,
  isFirst: boolean,
): Realm {
  const statics = new Statics(memory);
  const mayBlock = askMayBlock(memory);
  own = {
    memory,
    maximumBytes,
    module,
    statics,
    registry: new Registry(statics),
    isFirst,
    mayBlock,
    mayWait: mayBlock,
    identity: undefined,
    instance: undefined,
    isRunning: false,
    started: false,
    starting: undefined,
    record: 0,
    uses: 0,
    seats: new Set(),
    reapings: new Map(),
  };
  return own;
}

async function ensureStarted(realm: OwnRealm): Promise<void> {
  if (!realm.started) {
    realm.starting ??= start(realm).finally(() => (realm.starting = undefined));
    await realm.starting;
  }
}

async function start(realm: OwnRealm): Promise<void> {
  const { statics, registry, isFirst } = realm;
  try {
    if (isFirst && realm.instance === undefined) {
      // Nobody else knows this memory yet, and the start clears it: no turn is needed, nor kept.
      startInstance(realm);
      nameMemory(statics);
    }
    const { agent, life } = (realm.identity ??= await introduce(realm));
    realm.record = registry.claim(agent, life.life, life.parent);
    if (realm.isRunning) {
      becomeAgent(realm, agent);
    } else {
      await startInTurn(realm, agent);
    }
    realm.started = true;
  } catch (error) {
    if (error instanceof ArenaError && error.code === 'CannotLoad' && realm === own) {
      // There is no instance at all, so another module or memory may be tried.
      own = undefined;
    }
    throw error;
  }
}

async function startInTurn(realm: OwnRealm, agent: number): Promise<void> {
  const { statics, registry, record } = realm;
  try {
    await takeTurn(statics, agent);
    try {
      const instance = startInstance(realm);
      const [stack, data] = [instance.__stack_alloc.value, instance.__tls_base.value];
      registry.setStack(record, stack >>> 0, data >>> 0);
      becomeAgent(realm, agent);
    } finally {
      endTurn(statics);
    }
  } catch (error) {
    registry.release({ index: record, agent });
    throw error;
  }
}

function becomeAgent(realm: OwnRealm, agent: number): void {
  glue.become_agent(agent);
  glue.set_heap_may_wait(realm.mayWait);
}

function startInstance(realm: OwnRealm): Instance {
  const { module, memory, statics } = realm;
  if (realm.instance === undefined) {
    const { instance, failure } = makeInstance(module, memory, statics);
    realm.instance = instance;
    if (failure !== undefined) {
      throw failure;
    }
  } else {
    startAgain(realm.instance, statics);
  }
  realm.isRunning = true;
  return realm.instance;
}

/** Makes this realm an agent of its memory. */
async function introduce(realm: OwnRealm): Promise<Identity> {
  const { statics, registry } = realm;
  const memory = memoryName(statics);
  const agent = statics.increment(FACTS.agents.drawn);
  const threads = await nodeThreads();
  const life = await beginLife(memory, agent, threads);
  const locks = webLocks();
  let watch;
  if (threads !== undefined) {
    watch = new ThreadWatch(registry, reapDead, () => watches(realm, true));
    // It is told of the deaths of all that it creates, and most programs create them here.
    watches(realm, threads.isMainThread);
  } else if (locks !== undefined) {
    const died = reapDead;
    const onWatching = (watching: boolean) => watches(realm, watching);
    watch = new LockWatch(
      { locks, statics, registry, memory, agent, died, onWatching },
      'document' in globalThis,
    );
  }
  return { agent, life, news: new News(memory), watch };
}

/**
 * Says whether this realm is told of the deaths of others. Then it waits for no lock, even where it
 * could: the lock might be that of one whose death it would never be told of, because it waits.
 */
function watches(realm: OwnRealm, watching: boolean): void {
  realm.mayWait = realm.mayBlock && !watching;
  for (const seat of realm.seats) {
    glue.set_may_wait(seat, realm.mayWait);
  }
  if (realm.started) {
    glue.set_heap_may_wait(realm.mayWait);
  }
}

/** Something needs the instance no more. */
function release(realm: OwnRealm): void {
  realm.uses -= 1;
  if (realm.uses > 0 || !realm.started || realm.isFirst) {
    return;
  }
  const { statics, mayBlock } = realm;
  const { agent } = realm.identity!;
  if (tryTurn(statics, agent, mayBlock)) {
    endInstance(realm, agent);
    return;
  }
  takeTurn(statics, agent).then(
    () => endInstance(realm, agent),
    // It stays started, until it is used and left again, or this agent's death is seen.
    () => {},
  );
}

/** Gives back what the instance took, if nothing needs it still; ends this agent's turn. */
function endInstance(realm: OwnRealm, agent: number): void {
  const { statics, registry, record, instance } = realm;
  // Where the module's heap stays locked it keeps its seat there, and stays started with it.
  const isUnused = realm.uses === 0 && realm.started && glue.leave_heap();
  if (isUnused) {
    realm.started = false;
    realm.isRunning = false;
    registry.takeStack(record);
    end(instance!);
  }
  // While it is its turn it is in the table, or nobody would know whose turn is to be recovered.
  endTurn(statics);
  if (isUnused) {
    registry.release({ index: record, agent });
  }
}
