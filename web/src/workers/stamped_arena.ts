/**
 * The arena as the workloads use it: every object is stamped when it is allocated and checked
 * before it is freed, every call is tallied, and a full memory is an answer, not an exception.
 */
import { ArenaError, type Arena } from 'warena';
import type { ControlBlock, Tally } from '../model/control_block.ts';
import type { ObjectList } from '../model/object_list.ts';
import { Stamps, violationText, type Violation } from '../model/stamp.ts';
import type { Reply } from './protocol.ts';

/** What is known of an object besides its address: its size, and what its stamp says. */
export interface Stamped {
  bytes: number;
  owner: number;
  sequence: number;
}

type Note = Extract<Reply, { say: 'note' }>;

/** One worker's arena, with stamps, tally and notes to the page. */
export class StampedArena {
  /** The worker's number, which its stamps carry. */
  readonly worker: number;
  readonly stamps: Stamps;
  /** Goes on from what the control block says: that of the worker in whose place this one is. */
  readonly tally: Tally;
  readonly #arena: Arena;
  readonly #control: ControlBlock;
  readonly #note: (note: Note) => void;

  constructor(
    arena: Arena,
    worker: number,
    control: ControlBlock,
    note: (note: Note) => void,
  ) {
    this.worker = worker;
    this.tally = control.tally(worker);
    this.#arena = arena;
    this.#control = control;
    this.#note = note;
    this.stamps = new Stamps(arena.memory);
  }

  /** A stamped object of `bytes` bytes; 0 when the memory is full. */
  alloc(bytes: number, sequence: number): number {
    try {
      return this.#made(this.#arena.alloc(bytes), bytes, sequence);
    } catch (error) {
      return this.#outOfMemory(error);
    }
  }

  /** `alloc` of an object that is all zero before it is stamped. */
  allocZeroed(bytes: number, sequence: number): number {
    try {
      return this.#made(this.#arena.allocZeroed(bytes), bytes, sequence);
    } catch (error) {
      return this.#outOfMemory(error);
    }
  }

  /** `alloc` at a multiple of `alignment`. */
  allocAligned(bytes: number, alignment: number, sequence: number): number {
    try {
      return this.#made(this.#arena.allocAligned(bytes, alignment), bytes, sequence);
    } catch (error) {
      return this.#outOfMemory(error);
    }
  }

  /**
   * Makes an object one of `bytes` bytes with a stamp of its own, once its stamp was compared with
   * what it must be: before, and where it has kept all of its bytes, after. 0 when the memory is
   * full; the object is then as it was. Counts as an allocation and a free.
   */
  realloc(pointer: number, old: Stamped, bytes: number, sequence: number): number {
    this.#check(pointer, old);
    let moved: number;
    try {
      moved = this.#arena.realloc(pointer, bytes);
    } catch (error) {
      return this.#outOfMemory(error);
    }
    if (bytes >= old.bytes) {
      this.#check(moved, old);
    }
    this.tally.frees += 1;
    return this.#made(moved, bytes, sequence);
  }

  /** Frees an object that `owner` allocated, once its stamp was compared with what it must be. */
  free(pointer: number, bytes: number, owner: number, sequence: number): void {
    this.#check(pointer, { bytes, owner, sequence });
    this.#arena.free(pointer);
    this.tally.frees += 1;
  }

  /** Frees the next object of a list, which `owner` allocated. */
  freeNext(list: ObjectList, owner: number): void {
    const index = list.takeNext();
    this.free(list.pointer(index), list.bytes(index), owner, list.sequence(index));
  }

  /** Shows the tally to the page. */
  publish(): void {
    this.#control.publish(this.worker, this.tally);
  }

  /** Stamps and counts a new object. */
  #made(pointer: number, bytes: number, sequence: number): number {
    this.tally.allocations += 1;
    this.stamps.write(pointer, bytes, this.worker, sequence);
    return pointer;
  }

  /** The answer to an allocation that a full memory refused; any other error goes on. */
  #outOfMemory(error: unknown): number {
    if (!(error instanceof ArenaError && error.code === 'OutOfMemory')) {
      throw error;
    }
    this.tally.outOfMemory += 1;
    if (this.tally.outOfMemory === 1) {
      this.#note({ say: 'note', kind: 'out-of-memory', text: error.message });
    }
    return 0;
  }

  #check(pointer: number, { bytes, owner, sequence }: Stamped): void {
    const violation = this.stamps.check(pointer, bytes, owner, sequence);
    if (violation !== undefined) {
      this.#violation(violation);
    }
  }

  #violation(violation: Violation): void {
    this.tally.violations += 1;
    if (this.tally.violations === 1) {
      this.#note({ say: 'note', kind: 'violation', text: violationText(violation) });
    }
  }
}
