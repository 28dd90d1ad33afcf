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
 * `source` (to free it, or to copy it for a realloc), and make the object `target`; either may be
 * missing. Where threads are spread over workers, a worker that needs an object which another has
 * not made yet waits for it. That cannot deadlock: the operation that comes first in the recording,
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

/** Stands for "no object" in `source` and `target`. */
export const NONE = 0xffff_ffff;

/** What one worker replays, over and over; all arrays are shared memory, so that none is copied. */
export interface Program {
  /** Of each operation: the object that it takes over, or `NONE`. */
  source: Uint32Array;
  /** Of each operation: the object that it makes, or `NONE`. */
  target: Uint32Array;
  /** Of each object: bytes to ask for. An alignment is met by asking for at least as many bytes. */
  size: Uint32Array;
  /** Of each object: 1 when it is to be filled with zeroes. */
  zeroed: Uint8Array;
  /** Of each object: the worker that makes it. */
  maker: Uint8Array;
  /** Of each object: its pointer while it lives, else 0. Shared by all workers, or one's own. */
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

interface Numbered {
  objects: number;
  source: Uint32Array;
  target: Uint32Array;
}

/** Gives every object of `trace` a number; what is still live at the end is freed by extra operations. */
function numberObjects(trace: Trace): Numbered & { leftovers: Map<number, number> } {
  const source = new Uint32Array(trace.operations).fill(NONE);
  const target = new Uint32Array(trace.operations).fill(NONE);
  const live = new Map<number, number>();
  let objects = 0;
  for (let index = 0; index < trace.operations; index += 1) {
    const id = trace.id[index]!;
    const op = trace.op[index]!;
    if (op === FREE || op === REALLOC) {
      const object = live.get(id);
      if (object === undefined) {
        throw new Error(`operation ${index} of the trace frees id ${id}, which is not live`);
      }
      source[index] = object;
      live.delete(id);
    }
    if (op !== FREE) {
      if (live.has(id)) {
        throw new Error(`operation ${index} of the trace makes id ${id}, which is live already`);
      }
      target[index] = objects;
      live.set(id, objects);
      objects += 1;
    }
  }
  return { objects, source, target, leftovers: live };
}

function sharedU32(length: number): Uint32Array {
  return new Uint32Array(new SharedArrayBuffer(length * 4));
}

function sharedU8(length: number): Uint8Array {
  return new Uint8Array(new SharedArrayBuffer(length));
}

/**
 * The programs of `workers` workers. With `copies` each replays the whole trace on objects of its
 * own; otherwise thread t of the trace is replayed by worker t modulo `workers`.
 */
export function compileTrace(trace: Trace, workers: number, copies: boolean): Program[] {
  const { objects, source, target, leftovers } = numberObjects(trace);
  const size = sharedU32(objects);
  const zeroed = sharedU8(objects);
  const threadOf = new Uint8Array(objects);
  for (let index = 0; index < trace.operations; index += 1) {
    const object = target[index]!;
    if (object !== NONE) {
      size[object] = Math.max(1, trace.size[index]!, 2 ** trace.alignmentLog2[index]!);
      zeroed[object] = trace.op[index] === CALLOC ? 1 : 0;
      threadOf[object] = trace.thread[index]!;
    }
  }

  const sharedPointers = new Int32Array(new SharedArrayBuffer(objects * 4));
  return Array.from({ length: workers }, (_, worker) => {
    const mine = (thread: number) => copies || thread % workers === worker;
    const operations: [source: number, target: number][] = [];
    for (let index = 0; index < trace.operations; index += 1) {
      if (mine(trace.thread[index]!)) {
        operations.push([source[index]!, target[index]!]);
      }
    }
    for (const object of leftovers.values()) {
      if (mine(threadOf[object]!)) {
        operations.push([object, NONE]);
      }
    }
    const program: Program = {
      source: sharedU32(operations.length),
      target: sharedU32(operations.length),
      size,
      zeroed,
      maker: sharedU8(objects),
      pointers: copies ? new Int32Array(new SharedArrayBuffer(objects * 4)) : sharedPointers,
    };
    operations.forEach(([from, to], index) => {
      program.source[index] = from;
      program.target[index] = to;
    });
    for (let object = 0; object < objects; object += 1) {
      program.maker[object] = copies ? worker : threadOf[object]! % workers;
    }
    return program;
  });
}
