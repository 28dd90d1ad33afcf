/**
 * Owner stamps: the worker and the sequence number that an object carries from its allocation to
 * its free. Two objects that overlap overwrite each other's stamps, so a wrong stamp at the free
 * proves that the allocator gave the same bytes out twice.
 *
 * The stamp is two words at the object's head, and again, swapped, at its tail where the object is
 * long enough for both. An object shorter than a stamp carries one byte of it in every byte.
 */
import { addressLabel, bytesLabel } from './order.ts';

const STAMP_BYTES = 8;
const MARK = 0x5741_0000;

/** A stamp that was not the one written at allocation. */
export interface Violation {
  pointer: number;
  bytes: number;
  place: 'head' | 'tail';
  expected: [owner: number, sequence: number];
  found: [owner: number, sequence: number];
}

/** A violation in words. */
export function violationText({ pointer, bytes, place, expected, found }: Violation): string {
  const [owner, sequence] = found;
  const [rightOwner, rightSequence] = expected;
  return (
    `the object of ${bytesLabel(bytes)} at ${addressLabel(pointer)} ` +
    `carries the stamp (${owner}, ${sequence}) at its ${place}, ` +
    `not that of worker ${rightOwner}, sequence ${rightSequence}`
  );
}

/** Writes and checks stamps in one memory, through views that follow its growth. */
export class Stamps {
  readonly #memory: WebAssembly.Memory;
  #words: Int32Array;
  #bytes: Uint8Array;

  constructor(memory: WebAssembly.Memory) {
    this.#memory = memory;
    this.#words = new Int32Array(memory.buffer);
    this.#bytes = new Uint8Array(memory.buffer);
  }

  /** Writes the stamp of a new object. */
  write(pointer: number, bytes: number, worker: number, sequence: number): void {
    this.#cover(pointer + bytes);
    if (bytes < STAMP_BYTES) {
      this.#bytes.fill(shortStamp(worker, sequence), pointer, pointer + bytes);
      return;
    }
    const head = pointer >>> 2;
    this.#words[head] = MARK | worker;
    this.#words[head + 1] = sequence;
    const tail = tailWord(pointer, bytes);
    if (tail > head + 1) {
      this.#words[tail] = sequence;
      this.#words[tail + 1] = MARK | worker;
    }
  }

  /** Compares an object's stamp with the one written at its allocation. */
  check(pointer: number, bytes: number, worker: number, sequence: number): Violation | undefined {
    this.#cover(pointer + bytes);
    const expected: Violation['expected'] = [worker, sequence >>> 0];
    const violation = (place: Violation['place'], found: Violation['found']): Violation => ({
      pointer,
      bytes,
      place,
      expected,
      found,
    });
    if (bytes < STAMP_BYTES) {
      const stamp = shortStamp(worker, sequence);
      for (let at = pointer; at < pointer + bytes; at += 1) {
        if (this.#bytes[at] !== stamp) {
          return violation('head', [this.#bytes[at]!, 0]);
        }
      }
      return undefined;
    }
    const words = this.#words;
    const owner = MARK | worker;
    const head = pointer >>> 2;
    if (words[head] !== owner || words[head + 1] !== (sequence | 0)) {
      return violation('head', [(words[head]! ^ MARK) >>> 0, words[head + 1]! >>> 0]);
    }
    const tail = tailWord(pointer, bytes);
    if (tail > head + 1 && (words[tail] !== (sequence | 0) || words[tail + 1] !== owner)) {
      return violation('tail', [(words[tail + 1]! ^ MARK) >>> 0, words[tail]! >>> 0]);
    }
    return undefined;
  }

  /** Makes the views anew where the memory has grown past them: a view made before stays short. */
  #cover(end: number): void {
    if (end > this.#bytes.length) {
      this.#words = new Int32Array(this.#memory.buffer);
      this.#bytes = new Uint8Array(this.#memory.buffer);
    }
  }
}

/** The last two whole words of an object. Pointers are multiples of 16. */
function tailWord(pointer: number, bytes: number): number {
  return (pointer + bytes - STAMP_BYTES) >>> 2;
}

function shortStamp(worker: number, sequence: number): number {
  return (worker * 31 + sequence) & 0xff;
}
