/**
 * The scenes in which workers are killed at chosen writes: what a worker does before, alive, and what
 * it is in the middle of when it stands still.
 *
 * | field | meaning |
 * | --- | --- |
 * | before, act | what the worker does |
 * | locked | somebody else holds the heap's lock meanwhile, who lives on |
 * | deferred | there are deferred blocks by then, and all others pause |
 * | fresh | the memory has no chunk to spare by then |
 * | recovers | the kind of lock, heap or transfers, that some die with in their hands |
 */
const KIB = 1024;
const MIB = 1024 * KIB;
const LARGEST_BLOCK = 512 * KIB;

const many = (count, bytes) => Array.from({ length: count }, () => bytes);
const nothing = () => {};

export const SCENES = {
  'pop from the cache': {
    before: (hands) => {
      hands.alloc(...many(8, 64));
      hands.freeAll();
    },
    act: (hands) => hands.alloc(64),
  },
  'push to the cache': {
    before: (hands) => hands.alloc(64),
    act: (hands) => hands.freeAll(),
  },
  'refill from the transfer cache': {
    recovers: 'transfers',
    before: (hands) => {
      hands.alloc(...many(48, 64));
      hands.freeAll();
      hands.alloc(...many(16, 64));
    },
    act: (hands) => hands.alloc(...many(16, 64)),
  },
  'refill from the heap': {
    recovers: 'heap',
    before: nothing,
    act: (hands) => hands.alloc(...many(20, 1000)),
  },
  'spill to the transfer cache': {
    recovers: 'transfers',
    before: (hands) => hands.alloc(...many(40, 64)),
    act: (hands) => hands.freeAll(),
  },
  'spill to the heap': {
    recovers: 'heap',
    before: (hands) => hands.alloc(...many(130, 64)),
    act: (hands) => hands.freeAll(),
  },
  split: {
    recovers: 'heap',
    before: nothing,
    act: (hands) => hands.alloc(5000, 40 * KIB, 100 * KIB),
  },
  merge: {
    recovers: 'heap',
    before: (hands) => hands.alloc(5000, 9000, 5000, 40_000, 5000, 5000, 70_000),
    act: (hands) => {
      hands.freeHalf();
      hands.freeAll();
    },
  },
  'take a chunk': {
    recovers: 'heap',
    before: (hands) => hands.alloc(LARGEST_BLOCK),
    act: (hands) => hands.alloc(...many(3, LARGEST_BLOCK)),
  },
  'grow the memory': {
    recovers: 'heap',
    fresh: true,
    before: nothing,
    act: (hands) => hands.alloc(LARGEST_BLOCK, LARGEST_BLOCK, 2 * MIB),
  },
  'grow by hand': {
    recovers: 'heap',
    before: nothing,
    act: (hands) => hands.arena.grow(2),
  },
  'give a chunk back': {
    recovers: 'heap',
    before: (hands) => hands.alloc(...many(4, LARGEST_BLOCK)),
    act: (hands) => hands.freeAll(),
  },
  'allocate huge': {
    recovers: 'heap',
    before: nothing,
    act: (hands) => hands.alloc(3 * MIB, MIB),
  },
  'free huge': {
    recovers: 'heap',
    before: (hands) => hands.alloc(3 * MIB, MIB),
    act: (hands) => hands.freeAll(),
  },
  'resize in place, or by moving': {
    recovers: 'heap',
    before: (hands) => hands.alloc(5000, 100 * KIB, 3 * MIB),
    act: (hands) => hands.resize(30_000, 20_000, MIB),
  },
  'allocate and free in bulk': {
    recovers: 'heap',
    before: (hands) => hands.alloc(...many(8, 64)),
    act: (hands) => {
      hands.arena.allocBulk(100, 8).forEach((pointer) => hands.enter(pointer, 100));
      hands.freeBulk();
      hands.freeBulk();
    },
  },
  'aligned, zeroed and reserved': {
    before: (hands) => hands.alloc(16, 5000),
    act: (hands) => {
      hands.enter(hands.arena.allocAligned(100, 64 * KIB), 100);
      hands.enter(hands.arena.allocZeroed(5000), 5000);
      hands.arena.reserve(128, 8);
    },
  },
  flush: {
    recovers: 'heap',
    before: (hands) => {
      hands.alloc(16, 16, 64, 64, 100, 2048, 300, 1000);
      hands.freeAll();
    },
    act: (hands) => hands.arena.flush(),
  },
  defer: {
    locked: true,
    before: (hands) => hands.alloc(5000, 9000, 2 * MIB, 5000),
    act: (hands) => hands.freeAll((pointer) => hands.arena.freeNowait(pointer)),
  },
  'drain what is deferred': {
    recovers: 'heap',
    deferred: true,
    before: nothing,
    act: (hands) => hands.alloc(5000),
  },
  attach: {
    recovers: 'heap',
    before: nothing,
    act: (hands) => hands.attach(),
  },
  detach: {
    recovers: 'heap',
    before: async (hands) => {
      await hands.attach();
      hands.alloc(64, 64, 200);
      hands.freeAll();
    },
    act: (hands) => hands.detach(),
  },
};

/** What a worker does in order to stand still with the heap's lock in its hands. */
export const HOLDER = { before: nothing, act: (hands) => hands.alloc(5000) };
