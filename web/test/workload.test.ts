/**
 * The workloads on an allocator that only counts: whatever is interrupted where, no object is lost,
 * none is freed twice, and a release frees all.
 */
import { ArenaError, type Arena } from 'warena';
import { describe, expect, test } from 'vitest';
import { ControlBlock } from '../src/model/control_block.ts';
import { Exchange, QUEUE_LISTS } from '../src/model/exchange.ts';
import { ObjectList } from '../src/model/object_list.ts';
import { compileTrace, parseTrace } from '../src/model/trace.ts';
import { MallocFree } from '../src/workers/malloc_free.ts';
import { MallocXfree } from '../src/workers/malloc_xfree.ts';
import { Pacer } from '../src/workers/pacer.ts';
import { StampedArena } from '../src/workers/stamped_arena.ts';
import { TraceReplay } from '../src/workers/trace_replay.ts';
import { sizes, type Ground, type Workload } from '../src/workers/workload.ts';

/** Blocks of 4 KiB from a memory of 64 of them; counts, and refuses what an arena would refuse. */
class CountingArena {
  static readonly block = 4096;
  readonly memory = new WebAssembly.Memory({ initial: 4, maximum: 4, shared: true });
  readonly live = new Set<number>();
  readonly alignments: number[] = [];
  reallocs = 0;
  refusesRealloc = false;

  alloc(): number {
    for (let at = CountingArena.block; at < this.memory.buffer.byteLength; at += CountingArena.block) {
      if (!this.live.has(at)) {
        this.live.add(at);
        return at;
      }
    }
    throw full();
  }

  allocZeroed(): number {
    return this.alloc();
  }

  allocAligned(_bytes: number, alignment: number): number {
    this.alignments.push(alignment);
    return this.alloc();
  }

  /** Every block has room for every size: nothing ever moves. */
  realloc(pointer: number): number {
    if (!this.live.has(pointer)) {
      throw new Error(`${pointer} is not live`);
    }
    if (this.refusesRealloc) {
      throw full();
    }
    this.reallocs += 1;
    return pointer;
  }

  free(pointer: number): void {
    if (!this.live.delete(pointer)) {
      throw new Error(`${pointer} is not live`);
    }
  }
}

/** The package's own class: the page tells a full memory from other errors by it. */
function full(): ArenaError {
  return Object.assign(Object.create(ArenaError.prototype) as ArenaError, {
    code: 'OutOfMemory',
    message: 'full',
  });
}

/** The ground of a worker on `counting`. */
function groundOf(counting: CountingArena, control: ControlBlock, worker = 0): Ground {
  const arena = new StampedArena(counting as unknown as Arena, worker, control, () => undefined);
  return { arena, control, pacer: new Pacer(control, () => arena.publish()) };
}

/** A control block that lets `workers` workers run at full speed. */
function running(workers: number): ControlBlock {
  const control = ControlBlock.create(workers);
  control.run();
  return control;
}

/** A control block that interrupts after every operation: a pace is set, and nothing is to run. */
function interrupting(workers: number): ControlBlock {
  const control = ControlBlock.create(workers);
  control.pace = 1000;
  return control;
}

function listFor(objects: number): ObjectList {
  return ObjectList.in(ObjectList.makeRoom(objects));
}

function refreshAndCycle(ground: Ground, workload: Workload): boolean {
  ground.pacer.refresh();
  return workload.cycle();
}

test('mixed sizes stay between 16 B and 64 KiB', () => {
  const next = sizes(undefined, 3);
  const drawn = Array.from({ length: 10_000 }, next);
  expect(Math.min(...drawn)).toBeGreaterThan(8);
  expect(Math.max(...drawn)).toBeLessThanOrEqual(65_536);
  expect(new Set(drawn.map((bytes) => Math.ceil(Math.log2(bytes)))).size).toBe(13);
});

describe('malloc-free', () => {
  test('leaves nothing behind after a cycle', () => {
    const counting = new CountingArena();
    const ground = groundOf(counting, running(1));
    expect(new MallocFree(ground, 8, sizes(64, 0), listFor(8)).cycle()).toBe(true);
    expect(counting.live.size).toBe(0);
    expect(ground.arena.tally).toMatchObject({ allocations: 8, frees: 8, violations: 0 });
  });

  test('goes on where it was interrupted, and releases what it holds', () => {
    const counting = new CountingArena();
    const ground = groundOf(counting, interrupting(1));
    const workload = new MallocFree(ground, 4, () => 64, listFor(4));
    const held = Array.from({ length: 8 }, () => {
      expect(refreshAndCycle(ground, workload)).toBe(false);
      return counting.live.size;
    });
    expect(held).toEqual([1, 2, 3, 4, 3, 2, 1, 0]);
    expect(refreshAndCycle(ground, workload)).toBe(true);
    refreshAndCycle(ground, workload);
    workload.release();
    expect(counting.live.size).toBe(0);
  });

  test('notices a stop in the middle of a cycle at full speed', () => {
    const counting = new CountingArena();
    const ground = groundOf(counting, ControlBlock.create(1));
    const workload = new MallocFree(ground, 60, () => 64, listFor(60));
    expect(workload.cycle()).toBe(false);
    expect(counting.live.size).toBe(32);
    workload.release();
    expect(counting.live.size).toBe(0);
  });

  test('counts a full memory and frees what it got', () => {
    const counting = new CountingArena();
    const ground = groundOf(counting, running(1));
    expect(new MallocFree(ground, 100, () => 64, listFor(100)).cycle()).toBe(true);
    expect(ground.arena.tally).toMatchObject({ allocations: 63, frees: 63, outOfMemory: 37 });
    expect(counting.live.size).toBe(0);
  });

  test('counts a stamp that somebody overwrote', () => {
    const counting = new CountingArena();
    const ground = groundOf(counting, interrupting(1));
    const workload = new MallocFree(ground, 1, () => 64, listFor(1));
    refreshAndCycle(ground, workload);
    new Int32Array(counting.memory.buffer)[CountingArena.block / 4] = 7;
    workload.release();
    expect(ground.arena.tally.violations).toBe(1);
  });
});

describe('malloc-xfree', () => {
  test('frees what the worker before allocated', () => {
    const counting = new CountingArena();
    const control = ControlBlock.create(2);
    const exchange = new Exchange(Exchange.makeRoom(2, 4), 2, 4);
    const grounds = [0, 1].map((worker) => groundOf(counting, control, worker));
    const [first, second] = grounds.map((ground) => new MallocXfree(ground, exchange, () => 64));
    expect(first!.cycle()).toBe(true);
    expect(counting.live.size).toBe(4);
    expect(second!.cycle()).toBe(true);
    expect(grounds.map(({ arena }) => arena.tally.frees)).toEqual([0, 4]);
    first!.release();
    second!.release();
    expect(counting.live.size).toBe(0);
    expect(grounds.map(({ arena }) => arena.tally.violations)).toEqual([0, 0]);
  });

  test('does not wait for a full queue when it is to stop', () => {
    const counting = new CountingArena();
    const control = ControlBlock.create(2);
    const exchange = new Exchange(Exchange.makeRoom(2, 2), 2, 2);
    const ground = groundOf(counting, control, 0);
    const workload = new MallocXfree(ground, exchange, () => 64);
    const lists = Array.from({ length: QUEUE_LISTS }, () => workload.cycle());
    expect(lists.every((done) => done)).toBe(true);
    expect(workload.cycle()).toBe(false);
    const taker = new MallocXfree(groundOf(counting, control, 1), exchange, () => 64);
    workload.release();
    taker.release();
    expect(counting.live.size).toBe(0);
  });
});

describe('after a death', () => {
  test('malloc-xfree does not wait for the dead, and hands on again when another is there', () => {
    const counting = new CountingArena();
    const control = running(2);
    const exchange = new Exchange(Exchange.makeRoom(2, 2), 2, 2);
    const workload = new MallocXfree(groundOf(counting, control, 0), exchange, () => 64);
    control.leaveOut(1);
    const cycles = Array.from({ length: QUEUE_LISTS + 2 }, () => workload.cycle());
    expect(cycles.every((done) => done)).toBe(true);
    expect(counting.live.size).toBe(0);
    control.takeIn(1);
    expect(workload.cycle()).toBe(true);
    expect(counting.live.size).toBe(2);
    expect(new MallocXfree(groundOf(counting, control, 1), exchange, () => 64).cycle()).toBe(true);
    expect(counting.live.size).toBe(2);
  });

  test('whoever is in its place goes on from its tally', () => {
    const counting = new CountingArena();
    const control = running(1);
    const first = groundOf(counting, control);
    new MallocFree(first, 4, () => 64, listFor(4)).cycle();
    first.arena.publish();
    expect(groundOf(counting, control).arena.tally).toMatchObject({ allocations: 4, frees: 4 });
  });
});

describe('trace', () => {
  /** aligned 0 (100 B at 64), calloc 1 (50 B), realloc 0 to 200 B, free 1, free 0. */
  function trace(threads = [0, 0, 0, 0, 0]) {
    const operations = [
      [0, 100, 4],
      [1, 50, 3],
      [0, 200, 2],
      [1, 0, 1],
      [0, 0, 1],
    ];
    const view = new DataView(new ArrayBuffer(24 + operations.length * 12));
    [...'WTRACE1\0'].forEach((letter, at) => view.setUint8(at, letter.charCodeAt(0)));
    view.setUint32(8, operations.length, true);
    operations.forEach(([id, size, op], index) => {
      view.setUint32(24 + index * 12, id!, true);
      view.setUint32(28 + index * 12, size!, true);
      view.setUint8(32 + index * 12, op!);
      view.setUint8(33 + index * 12, threads[index]!);
      view.setUint8(34 + index * 12, 6);
    });
    return parseTrace(new Uint8Array(view.buffer));
  }

  test('replays allocations and reallocs, counts a realloc as both, and starts again', () => {
    const counting = new CountingArena();
    const ground = groundOf(counting, running(1));
    const [program] = compileTrace(trace(), 1, true);
    const workload = new TraceReplay(ground, program!, 5);
    expect([workload.cycle(), workload.cycle()]).toEqual([true, true]);
    expect(ground.arena.tally).toMatchObject({ allocations: 6, frees: 6, violations: 0 });
    expect(counting.live.size).toBe(0);
    expect([counting.reallocs, counting.alignments]).toEqual([2, [64, 64]]);
  });

  test('frees the object of a realloc that a full memory refused', () => {
    const counting = new CountingArena();
    counting.refusesRealloc = true;
    const ground = groundOf(counting, running(1));
    const [program] = compileTrace(trace(), 1, true);
    const workload = new TraceReplay(ground, program!, 5);
    expect([workload.cycle(), workload.cycle()]).toEqual([true, true]);
    expect(ground.arena.tally).toMatchObject({ frees: 4, violations: 0, outOfMemory: 2 });
    expect(counting.live.size).toBe(0);
  });

  test('notices a realloc that lost the bytes', () => {
    const counting = new CountingArena();
    const ground = groundOf(counting, running(1));
    const [program] = compileTrace(trace(), 1, true);
    const workload = new TraceReplay(ground, program!, 2);
    workload.cycle();
    const { realloc } = counting;
    counting.realloc = (pointer) => {
      new Uint8Array(counting.memory.buffer).fill(0, pointer, pointer + 100);
      return realloc.call(counting, pointer);
    };
    workload.cycle();
    expect(ground.arena.tally.violations).toBe(1);
  });

  test('releases what lives after any operation', () => {
    for (let operations = 1; operations <= 5; operations += 1) {
      const counting = new CountingArena();
      const ground = groundOf(counting, running(1));
      const [program] = compileTrace(trace(), 1, true);
      const workload = new TraceReplay(ground, program!, operations);
      workload.cycle();
      workload.release();
      expect(counting.live.size).toBe(0);
    }
  });

  test('waits for nobody once a worker was killed, and frees nothing twice', () => {
    const counting = new CountingArena();
    const control = running(2);
    // Thread 1 frees what thread 0 makes.
    const programs = compileTrace(trace([0, 0, 1, 1, 1]), 2, false);
    const grounds = [0, 1].map((worker) => groundOf(counting, control, worker));
    const [maker, taker] = programs.map((program, worker) => new TraceReplay(grounds[worker]!, program, 3));
    control.leaveOut(1);
    expect([maker!.cycle(), maker!.cycle(), taker!.cycle(), taker!.cycle()]).toEqual(Array(4).fill(true));
    maker!.release();
    taker!.release();
    expect(counting.live.size).toBe(0);
    expect(grounds.map(({ arena }) => arena.tally.violations)).toEqual([0, 0]);
  });
});
