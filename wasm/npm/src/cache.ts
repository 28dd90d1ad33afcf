/**
 * The cache of this agent's seat, as JavaScript reaches it: the hit path of an allocation and of a
 * free, on typed arrays over the shared memory. A call of the module costs more than the rest of a hit.
 *
 * It is the core's own hit path (`hit` and `push` of worker/mod.rs, `pop` and `push` of cache/lifo.rs),
 * step by step. Whatever is no hit changes nothing here, and is the module's to do: an empty or a full
 * stack, a size or a pointer that is not just right, an arena in checking mode, whose stacks stand
 * closed. Every offset comes from the module.
 *
 * **Why plain accesses.** The words of a slot are written by its own agent alone, and a block's byte by
 * the block's owner. A load or store through a typed array is what the module's plain ones are: it may
 * race with a watcher, and an aligned one of a word never tears.
 *
 * **If the agent ends between two stores.** Their order is the core's: a pop marks the object before the
 * top moves, a push moves the top before it marks. So at each of them what is below the top is the
 * stack's, and whoever reaps the seat finds every object in one place. No engine has more reason to
 * reorder these stores than the module's, which are plain as well and may overlap as far as a compiler
 * knows. And engines end an agent where code can be interrupted, at calls and at the turns of loops:
 * between two of these stores there is neither.
 *
 * **Why closures.** An engine takes what a closure never assigns, and a field that was never assigned
 * twice, for constants: the arrays' lengths and addresses are then in the code. In fields of a class
 * they were loaded and checked in each call, at half as much time again.
 */
import { BlockState } from './block.js';
import { FACTS } from './generated/facts.js';
import { covering } from './view.js';

const { layout } = FACTS;

const WORD_BYTES = Int32Array.BYTES_PER_ELEMENT;
const WORD_SHIFT = 31 - Math.clz32(WORD_BYTES);
/** Orders that may have a stack. */
const ORDERS = layout.maxCachedOrders;
/** The last byte of a unit, and where a unit's number starts in an address. */
const UNIT_MASK = layout.unitBytes - 1;
const UNIT_SHIFT = 31 - Math.clz32(layout.unitBytes);
const CHUNK_MASK = layout.chunkBytes - 1;
const CHUNK_SHIFT = 31 - Math.clz32(layout.chunkBytes);
/** Leading zeros of the last byte of a block of order 0. */
const ZEROS = Math.clz32(UNIT_MASK);
const BLOCKS = layout.chunkKindBlocks;
const ALLOCATED = BlockState.Allocated << FACTS.blockStateShift;
const CACHED = BlockState.Cached << FACTS.blockStateShift;

/** Where the words of an order's stack start, and those in it. */
const LIFO_SHIFT = 31 - Math.clz32(layout.lifoBytes / WORD_BYTES);
const TOP = layout.lifoTop / WORD_BYTES;
const BASE = layout.lifoBase / WORD_BYTES;
const LIMIT = layout.lifoLimit / WORD_BYTES;
/** The low half of 64 bits. */
const POPS = layout.lifoPops / WORD_BYTES;
const ENTRY_BYTES = layout.lifoEntryBytes;

/** @internal */
export interface Cache {
  /** An object of at least `bytes`, or 0 when that is no hit. */
  pop(bytes: number): number;
  /** Puts an allocated block on its stack; whether it is one, and there was room. */
  push(pointer: number): boolean;
  /** From now on objects as high as this one, which is there, are hits as well: the memory has grown. */
  cover(pointer: number): void;
}

/** One that nothing is a hit in. @internal */
export const CLOSED: Cache = { pop: () => 0, push: () => false, cover: () => {} };

/** The cache of the slot at `seat`, in the arena at `header`. @internal */
export function openCache(memory: WebAssembly.Memory, header: number, seat: number): Cache {
  // Each lies in one block, and so in one chunk, and stays there.
  const buffer = covering(memory, ((Math.max(header, seat) | CHUNK_MASK) >>> 0) + 1)!;
  const words = new Int32Array(buffer);
  const stacks = new Int32Array(buffer, seat + layout.slotLifos, ORDERS << LIFO_SHIFT);
  const kinds = new Uint8Array(buffer, header + layout.headerChunkKinds, layout.maxChunks);
  /** The memory as far as it went when this was made: objects may lie behind it. */
  const view = { bytes: new Uint8Array(buffer), end: buffer.byteLength };
  return {
    pop(bytes) {
      // Of what is no number, or no such integer, only the other side can tell what it is.
      if (typeof bytes !== 'number' || (bytes | 0) !== bytes) {
        return 0;
      }
      const order = ZEROS - Math.clz32((bytes - 1) | UNIT_MASK);
      if (order >= ORDERS) {
        return 0;
      }
      const lifo = order << LIFO_SHIFT;
      const top = stacks[lifo | TOP]!;
      const pops = stacks[lifo | POPS]!;
      // The module counts in one store of 64 bits: a carry is left to it.
      if (top === stacks[lifo | BASE] || pops === -1) {
        return 0;
      }
      const entry = (top - ENTRY_BYTES) | 0;
      const address = words[entry >>> WORD_SHIFT]!;
      const unit = mapByte(address);
      if (unit >= view.end) {
        return 0;
      }
      view.bytes[unit] = ALLOCATED | order;
      stacks[lifo | TOP] = entry;
      stacks[lifo | POPS] = pops + 1;
      return address >>> 0;
    },
    push(pointer) {
      if (typeof pointer !== 'number') {
        return false;
      }
      const address = pointer | 0;
      if (
        address >>> 0 !== pointer ||
        kinds[address >>> CHUNK_SHIFT] !== BLOCKS ||
        (address & UNIT_MASK) !== 0
      ) {
        return false;
      }
      const unit = mapByte(address);
      if (unit >= view.end) {
        return false;
      }
      const { bytes } = view;
      // Below 0, and so above all orders, for what is not allocated.
      const order = (bytes[unit]! - ALLOCATED) >>> 0;
      if (order >= ORDERS) {
        return false;
      }
      const lifo = order << LIFO_SHIFT;
      const top = stacks[lifo | TOP]!;
      if (top === stacks[lifo | LIMIT]) {
        return false;
      }
      words[top >>> WORD_SHIFT] = address;
      stacks[lifo | TOP] = top + ENTRY_BYTES;
      bytes[unit] = CACHED | order;
      return true;
    },
    cover(pointer) {
      if (pointer >= view.end) {
        view.bytes = new Uint8Array(covering(memory, pointer + layout.unitBytes)!);
        view.end = view.bytes.length;
      }
    },
  };
}

/** Where the byte of the unit at an address is, in either form: a chunk begins with its block map. */
const mapByte = (address: number): number =>
  ((address & ~CHUNK_MASK) | ((address & CHUNK_MASK) >>> UNIT_SHIFT)) >>> 0;
