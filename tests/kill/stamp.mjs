/**
 * Stamps: what an object's owner writes at both ends of it, so that whoever frees it, or finds it
 * after its owner's death, sees whether anybody else has written there.
 *
 * | where | word |
 * | --- | --- |
 * | first | the bytes that were asked for |
 * | second | the stamp |
 * | the last whole word | the stamp and the pointer, combined |
 *
 * An object says itself what it is, so handing it over takes nothing but its pointer.
 */

/** The smallest object that has room for its stamps. */
export const SMALLEST = 16;

/** Stamps a new object. */
export function stamp(arena, { pointer, bytes, mark }) {
  const words = wordsOf(arena, pointer, bytes);
  words[0] = bytes;
  words[1] = mark;
  words[words.length - 1] = seal(mark, pointer);
}

/** What an object says it is; throws when its stamps do not fit each other. */
export function read(arena, pointer) {
  const [bytes, mark] = wordsOf(arena, pointer, SMALLEST);
  const object = { pointer, bytes, mark };
  check(arena, object);
  return object;
}

/** Throws unless an object bears its stamps. */
export function check(arena, { pointer, bytes, mark }) {
  const words = wordsOf(arena, pointer, bytes);
  const last = words[words.length - 1];
  if (words[0] !== bytes || words[1] !== mark || last !== seal(mark, pointer)) {
    const found = [words[0], words[1], last].map(hex);
    const wanted = [bytes, mark, seal(mark, pointer)].map(hex);
    throw new Error(`the object at ${hex(pointer)} says ${found} instead of ${wanted}`);
  }
}

export const hex = (number) => `0x${number.toString(16)}`;

function wordsOf(arena, pointer, bytes) {
  const { buffer } = arena.u8(pointer, bytes);
  return new Uint32Array(buffer, pointer, Math.max(SMALLEST, bytes) >>> 2);
}

function seal(mark, pointer) {
  return (mark ^ pointer) >>> 0;
}
