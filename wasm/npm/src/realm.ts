/**
 * This realm's memory, and the module's instance on it.
 *
 * wasm-bindgen's glue holds one instance, so a realm (a page, a frame, a worker) has one memory,
 * made by the first `create` or taken from the first `attach`; any number of arenas share it. What
 * the instance took from the memory is given back when the realm's last arena is detached, so that
 * short-lived workers leave nothing behind.
 */
import { ArenaError, refused, shown, type ArenaErrorDetails } from './error.js';
import { BINARY } from './generated/binary.js';
import { FACTS, INITIAL_PAGES } from './generated/facts.js';
import * as glue from './glue/warena_wasm.js';
import type { ArenaHandle } from './handle.js';
import { end, makeInstance, startAgain, type Instance } from './instance.js';
import { DEFAULT_MAXIMUM_BYTES, PAGE_BYTES } from './options.js';
import { covering, refresh } from './view.js';

/** @internal */
export interface Realm {
  readonly memory: WebAssembly.Memory;
  readonly maximumBytes: number;
  readonly module: WebAssembly.Module;
  /** Whether this agent may block: false on a page's main thread and in worklets. */
  readonly mayWait: boolean;
}

interface OwnRealm extends Realm {
  readonly instance: Instance;
  started: boolean;
  attached: number;
}

let own: OwnRealm | undefined;

/** The realm, with a memory of its own if it has none yet. @internal */
export async function ownRealm(maximumBytes: number | undefined): Promise<Realm> {
  checkIsolation();
  const module = own?.module ?? (await compile());
  // Looked at again: another call may have made it meanwhile.
  if (own === undefined) {
    const most = maximumBytes ?? DEFAULT_MAXIMUM_BYTES;
    return makeRealm(module, makeMemory(most), most);
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
    return makeRealm(module, handle.memory, handle.maximumBytes);
  }
  if (!isSameMemory(own.memory, handle.memory)) {
    throw new ArenaError(
      'OtherMemory',
      'Arena.attach: the handle is of another memory than the one that this realm has, and it can ' +
        'have only one; attach in another Worker or frame',
    );
  }
  return own;
}

/** Runs what attaches an arena, on an instance that is started. @internal */
export function enter<T>(name: string, attach: () => T): T {
  const realm = current();
  if (!realm.started) {
    startAgain(realm.instance, realm.memory, realm.mayWait);
    realm.started = true;
  }
  realm.attached += 1;
  try {
    return call(name, attach);
  } catch (error) {
    leave();
    throw error;
  }
}

/** An arena of this realm was detached. @internal */
export function leave(): void {
  const realm = current();
  realm.attached -= 1;
  if (realm.attached === 0) {
    realm.started = !end(realm.instance, realm.mayWait);
  }
}

/** A call of the module that throws what it refuses. @internal */
export function call<T>(name: string, make: () => T): T {
  try {
    return make();
  } catch (refusal) {
    throw refused(name, refusal);
  }
}

/** The error for an integer call that was refused. @internal */
export function lastRefusal(name: string, details: ArenaErrorDetails): unknown {
  refresh(current().memory);
  return refused(name, glue.take_refusal(), details);
}

function current(): OwnRealm {
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
): Realm {
  const mayWait = askMayWait(memory);
  const { instance, failure } = makeInstance(module, memory, mayWait);
  own = {
    memory,
    maximumBytes,
    module,
    mayWait,
    instance,
    started: failure === undefined,
    attached: 0,
  };
  if (failure !== undefined) {
    throw failure;
  }
  return own;
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
    return await WebAssembly.compile(
      Uint8Array.from(atob(BINARY), (character) => character.charCodeAt(0)),
    );
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
    return new WebAssembly.Memory({
      initial: INITIAL_PAGES,
      maximum: bytes / PAGE_BYTES,
      shared: true,
    });
  } catch (cause) {
    throw new ArenaError(
      'OutOfMemory',
      `Arena.create: the engine cannot reserve a memory of ${shown(bytes)} bytes (${String(cause)}); ` +
        'use a smaller maximumBytes, or fewer memories at once',
      { bytes, cause },
    );
  }
}

/** Asks the engine: a wait for a word to change that holds another value returns at once. */
function askMayWait(memory: WebAssembly.Memory): boolean {
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
function isSameMemory(mine: WebAssembly.Memory, other: WebAssembly.Memory): boolean {
  if (mine === other) {
    return true;
  }
  const address = FACTS.identityWord;
  const [write, read] = [mine, other].map((memory) => {
    const buffer = covering(memory, address + 4);
    return buffer && new Uint32Array(buffer, address, 1);
  });
  for (let attempt = 0; attempt < 8 && write !== undefined && read !== undefined; attempt += 1) {
    const nonce = Math.floor(Math.random() * 2 ** 32);
    Atomics.store(write, 0, nonce);
    if (Atomics.load(read, 0) === nonce) {
      return true;
    }
  }
  return false;
}
