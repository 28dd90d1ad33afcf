/** Loading: the module compiled, and a memory made, or an error that says what is missing here. */
import { ArenaError, shown } from './error.js';
import { BINARY } from './generated/binary.js';
import { INITIAL_PAGES } from './generated/facts.js';
import { PAGE_BYTES } from './options.js';

/** @internal */
export function checkIsolation(): void {
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

/** @internal */
export async function compile(): Promise<WebAssembly.Module> {
  if (typeof atob !== 'function') {
    throw new ArenaError(
      'CannotLoad',
      'a worklet cannot decode the WebAssembly module; attach by a handle that has it, as ' +
        'arena.handle() returns it',
    );
  }
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

/** @internal */
export function makeMemory(bytes: number): WebAssembly.Memory {
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

/**
 * Asks the engine whether this agent may block: a wait for a word to change that holds another value
 * returns at once.
 *
 * @internal
 */
export function askMayBlock(memory: WebAssembly.Memory): boolean {
  const word = new Int32Array(memory.buffer, 0, 1);
  try {
    Atomics.wait(word, 0, ~Atomics.load(word, 0), 0);
    return true;
  } catch {
    // A TypeError: this agent cannot suspend. That is the answer, not a failure.
    return false;
  }
}
