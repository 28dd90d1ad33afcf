// The fronts of Warena that are called from JavaScript, as heaps for the benchmark about them: the
// package; two exported functions of a module, which is what everybody else would have; and another
// module that imports C's names.
//
// A front takes part like any other heap: it is asked for a round, and answers with a sample. What
// it allocates is stamped and checked before the timed cycles, not in them: stamping from JavaScript
// costs more than allocating. After them the arena must be whole and empty.

import { importer } from './importer.mjs';

/** Pairs between two readings of the clock. */
const BURST = 8192;

/** The fronts. `own` is the glue of the benchmarks' module, `entry` the address of the package. */
export async function fronts(own, entry) {
  const { Arena } = await import(entry);
  const arena = await Arena.create({ maximumBytes: 64 << 20 });
  const { memory } = own.initSync({});
  const close = () => {
    const { allocatedObjects } = arena.verify();
    if (allocatedObjects !== 0) {
      throw new Error(`${allocatedObjects} objects are allocated after all were freed`);
    }
  };
  const words = () => new Uint32Array(arena.memory.buffer);
  return [
    front('c-imports', {
      open: (allocs) => {
        const names = arena.cNames();
        const array = arena.alloc(4 * allocs);
        return {
          run: importer(arena.memory, names),
          array,
          alloc: names.malloc,
          free: names.free,
          words,
          close: () => {
            arena.free(array);
            close();
          },
        };
      },
      cycles: ({ run, array }, count, allocs, size) => {
        if (run(count, allocs, size, array) !== 0) {
          throw new Error('an object was not there, or not as it was left');
        }
      },
    }),
    front('javascript', {
      open: () => ({
        alloc: (size) => arena.alloc(size),
        free: (pointer) => arena.free(pointer),
        words,
        close,
      }),
      cycles: repeat((seat, allocs, size, pointers) => {
        for (let index = 0; index < allocs; index += 1) {
          pointers[index] = arena.alloc(size);
        }
        for (let index = allocs - 1; index >= 0; index -= 1) {
          arena.free(pointers[index]);
        }
      }),
    }),
    front('exports', {
      open: () => {
        const seat = own.seat_open();
        return {
          seat,
          alloc: (size) => own.seat_alloc(seat, size),
          free: (pointer) => {
            if (!own.seat_free(seat, pointer)) {
              throw new Error(`the heap refused to free its object at ${pointer}`);
            }
          },
          words: () => new Uint32Array(memory.buffer),
          close: () => own.seat_close(seat),
        };
      },
      cycles: repeat(({ seat }, allocs, size, pointers) => {
        for (let index = 0; index < allocs; index += 1) {
          pointers[index] = own.seat_alloc(seat, size);
        }
        for (let index = allocs - 1; index >= 0; index -= 1) {
          own.seat_free(seat, pointers[index]);
        }
      }),
    }),
  ];
}

function front(name, { open, cycles }) {
  return {
    allocator: 'warena',
    config: 'full',
    front: name,
    round: (cell, plan) => JSON.stringify(round(open, cycles, JSON.parse(cell), JSON.parse(plan))),
  };
}

/** Many cycles of one that JavaScript makes. */
const repeat = (cycle) => (seat, count, allocs, size, pointers) => {
  for (let index = 0; index < count; index += 1) {
    cycle(seat, allocs, size, pointers);
  }
};

function round(open, cyclesOf, { allocs, sizes }, { length, warm_up: warmUp }) {
  const size = sizes.Fixed;
  if (size === undefined) {
    throw new Error('the fronts are measured with objects of one size');
  }
  const seat = open(allocs);
  check(seat, allocs, size);
  const pointers = new Array(allocs).fill(0);
  const cycles = Math.ceil(BURST / allocs);
  const spend = ({ secs, nanos }) => {
    const begin = performance.now();
    const end = begin + secs * 1e3 + nanos / 1e6;
    let bursts = 0;
    let now;
    do {
      cyclesOf(seat, cycles, allocs, size, pointers);
      bursts += 1;
      now = performance.now();
    } while (now < end);
    return { ns: (now - begin) * 1e6, pairs: bursts * cycles * allocs };
  };
  spend(warmUp);
  const { ns, pairs } = spend(length);
  seat.close();
  return {
    pair_ns: ns / pairs,
    alloc_ns: null,
    free_ns: null,
    cpu_ns_per_pair: null,
    pairs,
    peak_grown: null,
    peak_grown_half: null,
    peak_requested: null,
  };
}

/** Allocates objects, and finds every one as it was left when it is freed. */
function check({ alloc, free, words }, allocs, size) {
  const pointers = Array.from({ length: allocs }, () => alloc(size));
  const view = words();
  const last = (pointer) => (pointer >>> 2) + (size >>> 2) - 1;
  for (const pointer of pointers) {
    view[pointer >>> 2] = pointer;
    view[last(pointer)] = pointer;
  }
  for (const pointer of pointers) {
    if (view[pointer >>> 2] !== pointer || view[last(pointer)] !== pointer) {
      throw new Error(`somebody else was given the object at ${pointer}`);
    }
    free(pointer);
  }
}
