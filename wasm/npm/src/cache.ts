/**
 * The cache of this agent's seat, as JavaScript reaches it: the hit path of an allocation and of a
 * free, on typed arrays over the shared memory. A call of the module costs more than all the rest of
 * a hit.
 *
 * This is the core's own hit path (`hit` and `push` of worker/mod.rs, `pop` and `push` of
 * cache/lifo.rs) word for word. Whatever is no hit changes nothing here, and is the module's to do: an
 * empty or a full stack, a size or a pointer that is not just right, an arena in checking mode, whose
 * stacks stand closed. Every offset comes from the module.
 *
 * **Why plain accesses.** The words of a slot are written by its own agent alone, and a block's byte by
 * the block's owner. A load or store through a typed array is what the module's plain ones are: it may
 * race with a watcher, and an aligned one of a word never tears.
 *
 * **If the agent ends between two stores.** The order is the core's: a pop marks the object before the
 * top moves, a push moves the top before it marks. So at every point what is below the top is the
 * stack's, and whoever reaps the seat finds each object in one place. An engine may not reorder these
 * stores more than the module's: both are plain stores of one shared memory, which a compiler keeps in
 * their order as it cannot tell that they do not overlap. And it ends an agent only where code can be
 * interrupted, at calls and at the turns of loops, of which there are none between two of them.
 */
import { BlockState } from './block.js';
import { FACTS } from './generated/facts.js';
import { covering } from './view.js';

const { layout } = FACTS;

const WORD_BYTES = 4;
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

/** Of a stack, in words. */
const LIFO = layout.lifoBytes / WORD_BYTES;
const TOP = layout.lifoTop / WORD_BYTES;
const BASE = layout.lifoBase / WORD_BYTES;
const LIMIT = layout.lifoLimit / WORD_BYTES;
/** The low half of 64 bits. */
const POPS = layout.lifoPops / WORD_BYTES;
const ENTRY_BYTES = layout.lifoEntryBytes;

/** Stacks that are empty and full at once, as those of orders that are never cached are. */
const CLOSED = new Int32Array(ORDERS * LIFO);

/** @internal */
export class Cache {
  readonly #memory: WebAssembly.Memory;
  /** The memory that the slot and its arrays lie in. */
  #words: Int32Array<ArrayBufferLike>;
  /** The memory as far as it went when this was made: objects may lie behind it. */
  #bytes: Uint8Array<ArrayBufferLike>;
  /** Where the stacks start, in words. */
  #lifos: number;
  /** Where the kinds of the chunks start, in bytes. */
  readonly #kinds: number;

  /** That of the slot at `seat`, in the arena at `header`. */
  constructor(memory: WebAssembly.Memory, header: number, seat: number) {
    this.#memory = memory;
    this.#kinds = header + layout.headerChunkKinds;
    this.#lifos = (seat + layout.slotLifos) / WORD_BYTES;
    // Each lies in one block, and so in one chunk.
    const end = ((Math.max(header, seat) | CHUNK_MASK) >>> 0) + 1;
    const buffer = covering(memory, end)!;
    this.#words = new Int32Array(buffer);
    this.#bytes = new Uint8Array(buffer);
    if (!FACTS.hitsInPackage) {
      this.close();
    }
  }

  /** An object of at least `bytes`, or 0 when that is no hit. */
  pop(bytes: number): number {
    // Of what is no number, or no integer of 32 bits, only the module's side can tell what it is.
    if (typeof bytes !== 'number' || (bytes | 0) !== bytes) {
      return 0;
    }
    const order = ZEROS - Math.clz32((bytes - 1) | UNIT_MASK);
    if (order >= ORDERS) {
      return 0;
    }
    const words = this.#words;
    const lifo = this.#lifos + order * LIFO;
    const top = words[lifo + TOP]!;
    const pops = words[lifo + POPS]!;
    // A carry into the high half is the module's: it counts in one store of 64 bits.
    if (top === words[lifo + BASE] || pops === -1) {
      return 0;
    }
    const entry = top - ENTRY_BYTES;
    const address = words[entry >>> 2]!;
    const unit = mapByte(address);
    const map = this.#bytes;
    if (unit >= map.length) {
      return 0;
    }
    map[unit] = ALLOCATED | order;
    words[lifo + TOP] = entry;
    words[lifo + POPS] = pops + 1;
    return address >>> 0;
  }

  /** Puts an allocated block on its stack; whether it is one, and there was room. */
  push(pointer: number): boolean {
    if (typeof pointer !== 'number' || pointer >>> 0 !== pointer) {
      return false;
    }
    const bytes = this.#bytes;
    if (bytes[this.#kinds + (pointer >>> CHUNK_SHIFT)] !== BLOCKS || (pointer & UNIT_MASK) !== 0) {
      return false;
    }
    const unit = mapByte(pointer);
    if (unit >= bytes.length) {
      return false;
    }
    const order = bytes[unit]! - ALLOCATED;
    if (order < 0 || order >= ORDERS) {
      return false;
    }
    const words = this.#words;
    const lifo = this.#lifos + order * LIFO;
    const top = words[lifo + TOP]!;
    if (top === words[lifo + LIMIT]) {
      return false;
    }
    words[top >>> 2] = pointer;
    words[lifo + TOP] = top + ENTRY_BYTES;
    bytes[unit] = CACHED | order;
    return true;
  }

  /** Makes objects as high as the one at `pointer`, which is there, hits as well: memory has grown. */
  cover(pointer: number): void {
    if (pointer < this.#bytes.length) {
      return;
    }
    this.#bytes = new Uint8Array(covering(this.#memory, pointer + layout.unitBytes)!);
  }

  /** Nothing is a hit any more. */
  close(): void {
    this.#words = CLOSED;
    this.#lifos = 0;
  }
}

/** Where the byte of the unit at an address is, in either form: a chunk begins with its block map. */
function mapByte(address: number): number {
  return ((address & ~CHUNK_MASK) | ((address & CHUNK_MASK) >>> UNIT_SHIFT)) >>> 0;
}
