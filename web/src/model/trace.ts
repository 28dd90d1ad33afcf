/**
 * A recorded program: reading the trace format, and turning it into what workers replay.
 *
 * The format, little-endian after gunzip: the 8 bytes `WTRACE1\0`; u32 operations, u32 ids in use at
 * most, u32 threads, u32 requested bytes at peak; then 12 bytes an operation: u32 id, u32 size, u8
 * op (0 malloc, 1 free, 2 realloc, 3 calloc, 4 aligned), u8 thread, u8 log2 of the alignment, u8 0.
 * An id names a live object and is used again after its free.
 *
 * Ids that are used again would tie threads together that never touched the same object, so a
 * program gives every object a number of its own. An operation then is: take over the object
 * `source`, and make the object `target`; either may be missing. With both it is a realloc. Every
 * object is taken over once. Where threads are spread over workers, a worker that needs an object
 * which another has not made yet waits for it. That cannot deadlock: the operation that comes first in the recording,
 * of all that are outstanding, never waits for a later one.
 */

const MAGIC = 'WTRACE1\0';
const HEADER_BYTES = 24;
const OPERATION_BYTES = 12;

/** The operations of a trace file, one array a field. */
export interface Trace {
  operations: number;
  threads: number;
  /** Requested bytes at peak. */
  peakBytes: number;
  id: Uint32Array;
  size: Uint32Array;
  op: Uint8Array;
  thread: Uint8Array;
  alignmentLog2: Uint8Array;
}

const FREE = 1;
const REALLOC = 2;
const CALLOC = 3;
const ALIGNED = 4;

/** Stands for "no object" in `source` and `target`. */
export const NONE = 0xffff_ffff;

/** The entry in the table of pointers of an object that could not be allocated: no pointer's value. */
export const ABSENT = -1;
/** The entry of an object that is not made yet, or taken over. */
export const EMPTY = 0;

/** What one worker replays, over and over; all arrays are shared memory, so that none is copied. */
export interface Program {
  /** Of each operation: the object that it takes over, or `NONE`. */
  source: Uint32Array;
  /** Of each operation: the object that it makes, or `NONE`. */
  target: Uint32Array;
  /** Of each object: bytes to ask for. */
  size: Uint32Array;
  /** Of each object: the alignment to ask for as a power of two, or 0 for none. */
  alignmentLog2: Uint8Array;
  /** Of each object: 1 when it is to be zero. */
  zeroed: Uint8Array;
  /** Of each object: the worker that makes it. */
  maker: Uint8Array;
  /**
   * Of each object: its pointer while it lives, else `EMPTY` or `ABSENT`. Shared by all workers, or
   * one's own.
   */
  pointers: Int32Array;
}

/** Reads a trace file. Throws an error that says what is wrong with it. */
export function parseTrace(bytes: Uint8Array): Trace {
  const magic = String.fromCharCode(...bytes.subarray(0, MAGIC.length));
  if (magic !== MAGIC) {
    throw new Error(`not a trace: it starts with ${JSON.stringify(magic)}, not "WTRACE1\\0"`);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const operations = view.getUint32(8, true);
  const expected = HEADER_BYTES + operations * OPERATION_BYTES;
  if (bytes.byteLength !== expected) {
    throw new Error(
      `a trace of ${operations} operations is ${expected} bytes long, this one ${bytes.byteLength}`,
    );
  }
  const trace: Trace = {
    operations,
    threads: view.getUint32(16, true),
    peakBytes: view.getUint32(20, true),
    id: new Uint32Array(operations),
    size: new Uint32Array(operations),
    op: new Uint8Array(operations),
    thread: new Uint8Array(operations),
    alignmentLog2: new Uint8Array(operations),
  };
  for (let index = 0; index < operations; index += 1) {
    const at = HEADER_BYTES + index * OPERATION_BYTES;
    trace.id[index] = view.getUint32(at, true);
    trace.size[index] = view.getUint32(at + 4, true);
    trace.op[index] = view.getUint8(at + 8);
    trace.thread[index] = view.getUint8(at + 9);
    trace.alignmentLog2[index] = view.getUint8(at + 10);
  }
  return trace;
}

/** The operations of a trace by the objects that they take over and make. */
interface NumberedTrace {
  objects: number;
  source: Uint32Array;
  target: Uint32Array;
  thread: Uint8Array;
}

/**
 * Gives every object of `trace` a number. What is still live at the end is freed by operations that
 * are added, in the thread that made it.
 */
function numberObjects(trace: Trace): NumberedTrace {
  const live = new Map<number, { object: number; thread: number }>();
  const source: number[] = [];
  const target: number[] = [];
  const thread: number[] = [];
  let objects = 0;
  for (let index = 0; index < trace.operations; index += 1) {
    const id = trace.id[index]!;
    const op = trace.op[index]!;
    const known = live.get(id);
    source[index] = NONE;
    target[index] = NONE;
    thread[index] = trace.thread[index]!;
    if (op === FREE || op === REALLOC) {
      if (known === undefined) {
        throw new Error(`operation ${index} of the trace frees id ${id}, which is not live`);
      }
      source[index] = known.object;
      live.delete(id);
    } else if (known !== undefined) {
      throw new Error(`operation ${index} of the trace makes id ${id}, which is live already`);
    }
    if (op !== FREE) {
      target[index] = objects;
      live.set(id, { object: objects, thread: trace.thread[index]! });
      objects += 1;
    }
  }
  for (const left of live.values()) {
    source.push(left.object);
    target.push(NONE);
    thread.push(left.thread);
  }
  return {
    objects,
    source: shareU32(source),
    target: shareU32(target),
    thread: Uint8Array.from(thread),
  };
}

/** The operations of the threads that `isMine` names. */
function pickThreads(
  { source, target, thread }: NumberedTrace,
  isMine: (thread: number) => boolean,
): Pick<Program, 'source' | 'target'> {
  const mine = (_: number, index: number) => isMine(thread[index]!);
  return { source: shareU32(source.filter(mine)), target: shareU32(target.filter(mine)) };
}

function shareU32(values: ArrayLike<number>): Uint32Array {
  const shared = new Uint32Array(new SharedArrayBuffer(values.length * 4));
  shared.set(values);
  return shared;
}

function sharedU8(length: number): Uint8Array {
  return new Uint8Array(new SharedArrayBuffer(length));
}

function sharedPointers(objects: number): Int32Array {
  return new Int32Array(new SharedArrayBuffer(objects * 4));
}

/**
 * The programs of `workers` workers. With `copies` each replays the whole trace on objects of its
 * own; otherwise thread t of the trace is replayed by worker t modulo `workers`.
 */
export function compileTrace(trace: Trace, workers: number, copies: boolean): Program[] {
  const numbered = numberObjects(trace);
  const { objects, target } = numbered;
  const size = shareU32(new Uint32Array(objects));
  const alignmentLog2 = sharedU8(objects);
  const zeroed = sharedU8(objects);
  const threadOf = new Uint8Array(objects);
  for (let index = 0; index < trace.operations; index += 1) {
    const object = target[index]!;
    if (object !== NONE) {
      size[object] = Math.max(1, trace.size[index]!);
      alignmentLog2[object] = trace.op[index] === ALIGNED ? trace.alignmentLog2[index]! : 0;
      zeroed[object] = trace.op[index] === CALLOC ? 1 : 0;
      threadOf[object] = trace.thread[index]!;
    }
  }

  if (copies) {
    return Array.from({ length: workers }, (_, worker) => ({
      source: numbered.source,
      target,
      size,
      alignmentLog2,
      zeroed,
      maker: sharedU8(objects).fill(worker),
      pointers: sharedPointers(objects),
    }));
  }
  const maker = sharedU8(objects);
  maker.set(threadOf.map((thread) => thread % workers));
  const pointers = sharedPointers(objects);
  return Array.from({ length: workers }, (_, worker) => ({
    ...pickThreads(numbered, (thread) => thread % workers === worker),
    size,
    alignmentLog2,
    zeroed,
    maker,
    pointers,
  }));
}
