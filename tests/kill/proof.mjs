/** What must hold of an arena while nobody calls it. */
import { check, hex } from './stamp.mjs';

/**
 * Proves that an arena is in order, that its figures add up, and that what is allocated is what
 * `objects` says. Beyond those there may be `leaving` ones, which somebody was giving away, and
 * `most` that nobody knows, which somebody had just got; they are returned, and what is wrong is
 * thrown.
 */
export function prove(arena, { objects, leaving, most }) {
  const verified = arena.verify();
  const stats = arena.stats();
  const sum = (figures) =>
    figures.freeBytes +
    figures.allocatedBytes +
    figures.cachedBytes +
    figures.inTransferBytes +
    figures.deferredBytes +
    figures.metadataBytes;
  for (const figures of [verified, stats]) {
    if (sum(figures) !== figures.ownedBytes) {
      throw new Error(`the parts are ${sum(figures)} bytes of ${figures.ownedBytes}`);
    }
  }
  for (const name of ['freeBytes', 'allocatedBytes', 'cachedBytes', 'inTransferBytes', 'ownedBytes']) {
    if (stats[name] !== verified[name]) {
      throw new Error(`${name} is ${stats[name]}, and by the proof ${verified[name]}`);
    }
  }
  const found = new Map();
  for (const { pointer, bytes } of arena.objects()) {
    found.set(pointer, bytes);
  }
  const bytes = [...found.values()].reduce((total, each) => total + each, 0);
  if (bytes !== verified.allocatedBytes || found.size !== verified.allocatedObjects) {
    throw new Error(`objects() lists ${bytes} bytes, and the proof ${verified.allocatedBytes}`);
  }
  for (const object of objects) {
    if (!(found.get(object.pointer) >= object.bytes)) {
      throw new Error(`the object of ${object.bytes} bytes at ${hex(object.pointer)} is lost`);
    }
    check(arena, object);
    found.delete(object.pointer);
  }
  const gone = leaving.filter((pointer) => found.delete(pointer));
  const unknown = [...found.keys()];
  if (unknown.length > most) {
    throw new Error(`${unknown.length} objects are nobody's, and ${most} may be: ${unknown.map(hex)}`);
  }
  return [...new Set(gone), ...unknown];
}
