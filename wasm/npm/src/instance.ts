/**
 * The module's instance in this realm: its start, its end, and starting it again.
 *
 * Every instance on a memory but the first takes a stack and thread-local data from that memory
 * when it starts. The start (wasm-bindgen writes it) runs on a stack that is guarded by a lock in
 * the memory. It traps when there is no room, and when an agent that may not wait finds the lock
 * taken. Neither may do harm:
 *
 * - No room: the trap left the lock taken, by us. It is let go of, and the caller told.
 * - May not wait: the lock is somebody else's for a moment. The start is tried again.
 */
import { ArenaError, shown } from './error.js';
import { INITIAL_PAGES } from './generated/facts.js';
import * as glue from './glue/warena_wasm.js';
import { PAGE_BYTES } from './options.js';

/** Bytes of the stack of every instance after a memory's first. */
const STACK_BYTES = 2 * PAGE_BYTES;
/** wasm-bindgen adds a page to the module's memory: a counter of instances, then that lock. */
const START_LOCK = (INITIAL_PAGES - 1) * PAGE_BYTES + 4;
/** Tries of an agent that may not wait, each after it has seen the lock free. */
const ATTEMPTS = 100;
/** Looks at the lock before each of them. */
const SPINS = 100_000;

/** The instance's exports, with the one that wasm-bindgen's types leave out. @internal */
export interface Instance extends glue.InitOutput {
  /** The stack that the instance took from the memory: 0 in a memory's first, and once ended. */
  readonly __stack_alloc: WebAssembly.Global;
}

/**
 * Makes the realm's instance and starts it. Without room for the start the instance is there all
 * the same: `started` says so, and `startAgain` may succeed later.
 *
 * @internal
 */
export function makeInstance(
  module: WebAssembly.Module,
  memory: WebAssembly.Memory,
  mayWait: boolean,
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
    failure = settle(make(), memory, mayWait, cause);
  }
  const instance = make();
  if (failure === undefined) {
    instance.set_heap_may_wait(Number(mayWait));
  }
  if (instance.memory !== memory) {
    throw cannotStart(new Error('the instance of an earlier call is on another memory'));
  }
  return { instance, failure };
}

/** Starts an instance that was ended, or whose start found no room. @internal */
export function startAgain(instance: Instance, memory: WebAssembly.Memory, mayWait: boolean): void {
  try {
    instance.__wbindgen_start(STACK_BYTES);
  } catch (cause) {
    const failure = settle(instance, memory, mayWait, cause);
    if (failure !== undefined) {
      throw failure;
    }
  }
  instance.set_heap_may_wait(Number(mayWait));
}

/** Gives back what the instance took when it started, if it may; whether it did. @internal */
export function end(instance: Instance, mayWait: boolean): boolean {
  // A memory's first instance has its stack in static memory. Freeing one may wait for the lock.
  if (!mayWait || instance.__stack_alloc.value === 0) {
    return false;
  }
  // An agent that may wait always gets to it. What is freed from here on is nobody's cache's.
  instance.leave_heap();
  instance.__wbindgen_thread_destroy();
  return true;
}

function cannotStart(cause: unknown): ArenaError {
  return new ArenaError(
    'CannotLoad',
    `the WebAssembly module cannot be started here: ${String(cause)}`,
    { cause },
  );
}

/** After a start that trapped: starts all the same if that can be done; else the error to throw. */
function settle(
  instance: Instance,
  memory: WebAssembly.Memory,
  mayWait: boolean,
  trap: unknown,
): ArenaError | undefined {
  const lock = new Int32Array(memory.buffer, START_LOCK, 1);
  let cause = trap;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    // Every engine's trap of a failed allocation names the instruction.
    if (/unreachable/i.test(String(cause))) {
      if (instance.__stack_alloc.value === 0) {
        Atomics.store(lock, 0, 0);
        Atomics.notify(lock, 0, 1);
      }
      return new ArenaError(
        'OutOfMemory',
        `no room to start another agent: it takes ${shown(STACK_BYTES)} bytes for its stack, and the ` +
          'memory is at its maximum; attach earlier, detach another agent, or use a larger maximumBytes',
        { bytes: STACK_BYTES, cause },
      );
    }
    if (mayWait) {
      return cannotStart(cause);
    }
    for (let spin = 0; spin < SPINS && Atomics.load(lock, 0) !== 0; spin += 1);
    try {
      instance.__wbindgen_start(STACK_BYTES);
      return undefined;
    } catch (next) {
      cause = next;
    }
  }
  return new ArenaError(
    'Busy',
    'another agent was starting all the while that this one may spin, and it may not wait; try again',
    { cause },
  );
}
