/**
 * The module's instance in this realm: its start, its end, and starting it again.
 *
 * Every instance on a memory but the first takes a stack and thread-local data from that memory
 * when it starts. The start (wasm-bindgen writes it) runs on a stack that is guarded by a lock in
 * the memory. It traps when there is no room, and leaves the lock taken then; that is put right
 * here. Nobody ever waits for that lock: all calls here are made by the agent whose turn it is
 * (turn.ts).
 */
import { ArenaError, shown } from './error.js';
import { INITIAL_PAGES } from './generated/facts.js';
import * as glue from './glue/warena_wasm.js';
import { PAGE_BYTES } from './options.js';
import type { Statics } from './statics.js';

/** Bytes of the stack of every instance after a memory's first. */
const STACK_BYTES = 2 * PAGE_BYTES;
/** wasm-bindgen adds a page to the module's memory: a counter of instances, then that lock. */
const START_LOCK = (INITIAL_PAGES - 1) * PAGE_BYTES + 4;

/** The instance's exports, with those that wasm-bindgen's types leave out. @internal */
export interface Instance extends glue.InitOutput {
  /** The stack that the instance took from the memory: 0 in a memory's first, and once ended. */
  readonly __stack_alloc: WebAssembly.Global<'i32'>;
  /** Its thread-local data. */
  readonly __tls_base: WebAssembly.Global<'i32'>;
}

/**
 * Makes the realm's instance and starts it. Without room for the start the instance is there all
 * the same: `failure` says so, and `startAgain` may succeed later.
 *
 * @internal
 */
export function makeInstance(
  module: WebAssembly.Module,
  memory: WebAssembly.Memory,
  statics: Statics,
): { instance: Instance; failure: ArenaError | undefined } {
  // The glue keeps the instance before it starts it; asked again, it only hands it out.
  const make = () => glue.initSync({ module, memory, thread_stack_size: STACK_BYTES }) as Instance;
  let failure;
  try {
    make();
  } catch (cause) {
    if (!(cause instanceof WebAssembly.RuntimeError)) {
      throw cannotStart(cause);
    }
    failure = noRoom(make(), statics, cause);
  }
  const instance = make();
  if (instance.memory !== memory) {
    throw cannotStart(new Error('the instance of an earlier call is on another memory'));
  }
  return { instance, failure };
}

/** Starts an instance that was ended, or whose start found no room. @internal */
export function startAgain(instance: Instance, statics: Statics): void {
  try {
    instance.__wbindgen_start(STACK_BYTES);
  } catch (cause) {
    throw noRoom(instance, statics, cause);
  }
}

/** Gives back what the instance took when it started; it has left the module's heap. @internal */
export function end(instance: Instance): void {
  instance.__wbindgen_thread_destroy();
}

/** Frees what the instance of another agent, which has ended, took when it started. @internal */
export function freeStack(instance: Instance, stack: number, threadLocalData: number): void {
  instance.__wbindgen_thread_destroy(threadLocalData, stack, STACK_BYTES);
}

/** Sets the lock of the start back, which an agent left taken. @internal */
export function resetStart(statics: Statics): void {
  statics.store(START_LOCK, 0);
  statics.notify(START_LOCK);
}

function cannotStart(cause: unknown): ArenaError {
  return new ArenaError(
    'CannotLoad',
    `the WebAssembly module cannot be started here: ${String(cause)}`,
    { cause },
  );
}

/** The error for a start that trapped. */
function noRoom(instance: Instance, statics: Statics, cause: unknown): ArenaError {
  // Every engine's trap of a failed allocation names the instruction.
  if (!/unreachable/i.test(String(cause))) {
    return cannotStart(cause);
  }
  if (instance.__stack_alloc.value === 0) {
    resetStart(statics);
  }
  return new ArenaError(
    'OutOfMemory',
    `no room to start another agent: it takes ${shown(STACK_BYTES)} bytes for its stack, and the ` +
      'memory is at its maximum; attach earlier, detach another agent, or use a larger maximumBytes',
    { bytes: STACK_BYTES, cause },
  );
}
