/**
 * This realm's memory, and the module's instance on it.
 *
 * wasm-bindgen's glue holds one instance, so a realm (a page, a frame, a worker) has one memory,
 * made by the first `create` or taken from the first `attach`; any number of arenas share it. An
 * instance other than a memory's first has a stack and thread-local data in that memory. They are
 * given back when the realm's last arena is detached, and made again by the next one, so that
 * short-lived workers leave nothing behind.
 */
import { ArenaError, refused, shown } from './error.js';
import { BINARY } from './generated/binary.js';
import { INITIAL_PAGES } from './generated/facts.js';
import * as glue from './glue/warena_wasm.js';
import type { ArenaHandle } from './handle.js';
import { DEFAULT_MAXIMUM_BYTES, PAGE_BYTES } from './options.js';
import { covering } from './view.js';

/** Bytes of the stack of every instance after a memory's first: the deepest call needs 6 KiB. */
const STACK_BYTES = 2 * PAGE_BYTES;
/** What starting an instance takes from the memory at most: its stack, and what is around it. */
const START_BYTES = STACK_BYTES + 2 * PAGE_BYTES;

/** @internal */
export interface Realm {
  readonly memory: WebAssembly.Memory;
  readonly maximumBytes: number;
  readonly module: WebAssembly.Module;
  /** Whether this agent may block: false on a page's main thread and in worklets. */
  readonly mayWait: boolean;
}

let realm: (Realm & { exports: glue.InitOutput; started: boolean; attached: number }) | undefined;

/** The realm with a memory of its own: the one that it has, or a new one. @internal */
export async function ownRealm(maximumBytes: number | undefined): Promise<Realm> {
  checkIsolation();
  const module = realm?.module ?? (await compile());
  // Looked at again: another call may have made it meanwhile.
  if (realm === undefined) {
    const most = maximumBytes ?? DEFAULT_MAXIMUM_BYTES;
    return start(module, makeMemory(most), most);
  }
  if (maximumBytes !== undefined && maximumBytes !== realm.maximumBytes) {
    throw new ArenaError(
      'OtherMemory',
      `Arena.create: maximumBytes is ${shown(maximumBytes)}, but this realm has a memory of at most ` +
        `${shown(realm.maximumBytes)} bytes already, and only one; leave maximumBytes out to use it, ` +
        'or create the arena in another Worker or frame',
      { bytes: maximumBytes },
    );
  }
  restart();
  return realm;
}

/** The realm with the memory of a handle that was checked. @internal */
export async function realmOf(handle: ArenaHandle): Promise<Realm> {
  // A module of another realm, or none: the same bytes are here.
  const module = handle.module instanceof WebAssembly.Module ? handle.module : (realm?.module ?? (await compile()));
  if (realm === undefined) {
    return start(module, handle.memory, handle.maximumBytes);
  }
  if (!isSameMemory(realm.memory, handle.memory)) {
    throw new ArenaError(
      'OtherMemory',
      'Arena.attach: the handle is of another memory than the one that this realm has, and it can ' +
        'have only one; attach in another Worker or frame',
    );
  }
  restart();
  return realm;
}

/** One more arena is attached in this realm. @internal */
export function enter(): void {
  if (realm !== undefined) {
    realm.attached += 1;
  }
}

/** An arena of this realm was detached. @internal */
export function leave(): void {
  if (realm === undefined) {
    return;
  }
  realm.attached -= 1;
  // A memory's first instance has its stack in static memory; and freeing one may wait.
  if (realm.attached === 0 && realm.mayWait && ownsStack(realm.exports)) {
    realm.started = false;
    realm.exports.__wbindgen_thread_destroy();
  }
}

/** The stack that the instance allocated for itself: 0 in a memory's first. */
function ownsStack(exports: glue.InitOutput): boolean {
  const { __stack_alloc: stack } = exports as unknown as { __stack_alloc: WebAssembly.Global };
  return stack.value !== 0;
}

function checkIsolation(): void {
  // Undefined outside of pages and Web Workers: in Node, where nothing needs to be isolated.
  if (globalThis.crossOriginIsolated === false || typeof SharedArrayBuffer === 'undefined') {
    throw new ArenaError(
      'NotIsolated',
      'Arena.create: this page is not cross-origin isolated, so the browser gives it no shared ' +
        'memory. Send these two headers with the document and with the scripts of its workers:\n' +
        '    Cross-Origin-Opener-Policy: same-origin\n' +
        '    Cross-Origin-Embedder-Policy: require-corp\n' +
        'over https or from localhost; in Vite by server.headers and preview.headers, elsewhere in ' +
        "the server's configuration",
    );
  }
}

async function compile(): Promise<WebAssembly.Module> {
  try {
    return await WebAssembly.compile(Uint8Array.from(atob(BINARY), (character) => character.charCodeAt(0)));
  } catch (cause) {
    throw new ArenaError(
      'CannotLoad',
      `the WebAssembly module cannot be compiled here: ${String(cause)}; if a Content-Security-Policy ` +
        "forbids it, allow 'wasm-unsafe-eval' in script-src",
      { cause },
    );
  }
}

function makeMemory(bytes: number): WebAssembly.Memory {
  try {
    return new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum: bytes / PAGE_BYTES, shared: true });
  } catch (cause) {
    throw new ArenaError(
      'OutOfMemory',
      `Arena.create: the engine cannot reserve a memory of ${shown(bytes)} bytes (${String(cause)}); ` +
        'use a smaller maximumBytes, or fewer memories at once',
      { bytes, cause },
    );
  }
}

function start(module: WebAssembly.Module, memory: WebAssembly.Memory, maximumBytes: number): Realm {
  checkRoom(memory, maximumBytes);
  let exports;
  try {
    exports = glue.initSync({ module, memory, thread_stack_size: STACK_BYTES });
  } catch (cause) {
    throw new ArenaError('CannotLoad', `the WebAssembly module cannot be started here: ${String(cause)}`, { cause });
  }
  realm = { memory, maximumBytes, module, mayWait: mayWait(memory), exports, started: true, attached: 0 };
  return realm;
}

/** Starts the instance again if the realm's last arena had been detached. */
function restart(): void {
  if (realm !== undefined && !realm.started) {
    checkRoom(realm.memory, realm.maximumBytes);
    realm.exports.__wbindgen_start(STACK_BYTES);
    realm.started = true;
  }
}

/**
 * Refuses to start an instance that might not get its stack: the start would trap, and leave the
 * lock taken that guards every other start.
 */
function checkRoom(memory: WebAssembly.Memory, maximumBytes: number): void {
  if (covering(memory, maximumBytes - START_BYTES + 1) !== undefined) {
    throw new ArenaError(
      'OutOfMemory',
      `no room to start another agent: it takes up to ${shown(START_BYTES)} bytes beyond the arena's ` +
        `chunks, and the memory is at its maximum of ${shown(maximumBytes)}; attach earlier or make ` +
        'the memory with a larger maximumBytes',
      { bytes: START_BYTES },
    );
  }
}

/** Asks the engine: a wait for a word to change that holds another value returns at once. */
function mayWait(memory: WebAssembly.Memory): boolean {
  const word = new Int32Array(memory.buffer, 0, 1);
  try {
    Atomics.wait(word, 0, ~Atomics.load(word, 0), 0);
    return true;
  } catch {
    // A TypeError: this agent cannot suspend. That is the answer, not a failure.
    return false;
  }
}

/**
 * Whether two objects are the same memory: a clone is another object. What is written through one
 * is read through the other, more than once because another agent may be asking the same.
 */
function isSameMemory(own: WebAssembly.Memory, other: WebAssembly.Memory): boolean {
  if (own === other) {
    return true;
  }
  restart();
  const address = glue.identity_word();
  const buffers = [own, other].map((memory) => covering(memory, address + 4));
  const [mine, theirs] = buffers.map((buffer) => buffer && new Uint32Array(buffer, address, 1));
  if (mine === undefined || theirs === undefined) {
    return false;
  }
  for (let attempt = 0; attempt < 8; attempt += 1) {
    const nonce = crypto.getRandomValues(new Uint32Array(1))[0]!;
    Atomics.store(mine, 0, nonce);
    if (Atomics.load(theirs, 0) === nonce) {
      return true;
    }
  }
  return false;
}

/**
 * What the module's last integer call was refused for.
 *
 * @internal
 */
export function lastRefusal(memory: WebAssembly.Memory, call: string, details: { pointer?: number; bytes?: number }): unknown {
  // The glue reads the message through `memory.buffer`, which must cover what others have grown.
  memory.grow(0);
  return refused(call, glue.take_refusal(), details);
}
