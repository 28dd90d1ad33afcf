/** Whether a memory that came by a message is the one that is here. */
import { FACTS } from './generated/facts.js';
import { covering } from './view.js';

/**
 * Whether two objects are the same memory: a clone is another object. What is written through one
 * is read through the other, more than once because another agent may be asking the same.
 *
 * @internal
 */
export function isSameMemory(mine: WebAssembly.Memory, other: WebAssembly.Memory): boolean {
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
