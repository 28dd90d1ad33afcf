/** What agents do on a shared arena. Every object carries a stamp of who allocated it, and when. */
import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
import { Arena } from 'warena';
import { random } from './random.mjs';

/** Fills all of an object with a byte that tells its owner and its turn. */
function stamp(arena, pointer, bytes, agent, turn) {
  arena.u8(pointer, bytes).fill((agent * 67 + turn) & 0xff);
}

/** Throws when a byte of the object is not what its stamp put there. */
function check(arena, { pointer, bytes, agent, turn }) {
  const wanted = (agent * 67 + turn) & 0xff;
  const wrong = arena.u8(pointer, bytes).findIndex((byte) => byte !== wanted);
  if (wrong !== -1) {
    throw new Error(
      `object 0x${pointer.toString(16)} of agent ${agent}: byte ${wrong} of ${bytes} was overwritten`,
    );
  }
}

function allocate(arena, agent, turn, bytes) {
  const pointer = arena.alloc(bytes);
  stamp(arena, pointer, bytes, agent, turn);
  return { pointer, bytes, agent, turn };
}

/**
 * Attaches and stays until the first word of `words` is not 0, having counted itself in the second,
 * attached or not.
 */
export async function stay(handle, { words }) {
  const count = () => Atomics.add(words, 1, 1);
  try {
    const arena = await Arena.attach(handle);
    count();
    Atomics.wait(words, 0, 0);
    arena.detach();
    return {};
  } catch ({ code, message }) {
    count();
    return { code, message };
  }
}

/** Each cycle: allocates a number of objects of mixed sizes, checks them all, frees them. */
export async function mallocFree(handle, { agent, cycles, most }) {
  const arena = await Arena.attach(handle);
  const below = random(agent + 1);
  let objects = 0;
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    const held = Array.from({ length: 1 + below(64) }, (_, turn) =>
      allocate(arena, agent, turn, 1 + below(most)),
    );
    for (const object of held) {
      check(arena, object);
      arena.free(object.pointer);
    }
    objects += held.length;
  }
  arena.detach();
  return { objects };
}

/**
 * Each cycle: allocates a list, leaves it in the mailbox for the others, and frees the list that
 * was there. The mailbox is an object of the arena: one word that holds the address of a list,
 * whose objects are linked by their first word and stamped by their second.
 */
export async function mallocXfree(handle, { agent, cycles, mailbox }) {
  const arena = await Arena.attach(handle);
  const below = random(agent + 101);
  const words = (pointer) => {
    const view = arena.u8(pointer, 8);
    return new Uint32Array(view.buffer, pointer, 2);
  };
  const slot = () => words(mailbox);
  let foreign = 0;
  const freeList = (first) => {
    for (let pointer = first; pointer !== 0;) {
      const [next, mark] = words(pointer);
      const owner = mark >>> 24;
      if ((mark & 0xffffff) !== ((pointer >>> 4) & 0xffffff)) {
        throw new Error(`object 0x${pointer.toString(16)} of agent ${owner} was overwritten`);
      }
      foreign += owner === agent ? 0 : 1;
      arena.free(pointer);
      pointer = next;
    }
  };
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    let first = 0;
    for (let count = 1 + below(64); count > 0; count -= 1) {
      const pointer = arena.alloc(8 + below(3000));
      words(pointer).set([first, ((agent << 24) | ((pointer >>> 4) & 0xffffff)) >>> 0]);
      first = pointer;
    }
    freeList(Atomics.exchange(slot(), 0, first));
  }
  arena.detach();
  return { foreign };
}

/** Allocates more than the memory has at the moment, and leaves it allocated. */
export async function grow(handle, { bytes }) {
  const arena = await Arena.attach(handle);
  const pointers = [];
  for (let left = bytes; left > 0; left -= 1 << 19) {
    pointers.push(arena.alloc(1 << 19));
    arena.u8(pointers.at(-1), 1 << 19).fill(0x5a);
  }
  arena.detach();
  return { pointers };
}

/** Waits until all agents are there, and allocates as fast as it can; whether its stamps held. */
export async function growTogether(handle, { agent, agents, start, times, most }) {
  const arena = await Arena.attach(handle);
  const below = random(agent + 201);
  const arrived = new Int32Array(arena.memory.buffer, start, 1);
  Atomics.add(arrived, 0, 1);
  Atomics.notify(arrived, 0);
  for (let here = 0; (here = Atomics.load(arrived, 0)) < agents;) {
    Atomics.wait(arrived, 0, here);
  }
  const held = Array.from({ length: times }, (_, turn) =>
    allocate(arena, agent, turn, 1024 + below(most)),
  );
  let violations = 0;
  for (const object of held) {
    try {
      check(arena, object);
    } catch {
      violations += 1;
    }
    arena.free(object.pointer);
  }
  arena.detach();
  return { violations, bytes: held.reduce((sum, { bytes }) => sum + bytes, 0) };
}

/** Grows the memory itself, and watches over the pages that it got. */
export async function growByHand(handle, { times, pages }) {
  const arena = await Arena.attach(handle);
  const ranges = [];
  for (let time = 0; time < times; time += 1) {
    const first = arena.memory.grow(pages) * 65_536;
    new Uint8Array(arena.memory.buffer, first, pages * 65_536).fill(0x77);
    ranges.push([first, first + pages * 65_536]);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const intact = ranges.every(([first, end]) =>
    new Uint8Array(arena.memory.buffer, first, end - first).every((byte) => byte === 0x77),
  );
  arena.detach();
  return { ranges, intact };
}

/**
 * Verifies the arena again and again, so that the heap is locked most of the time. What it says is
 * no matter: others are in the middle of calls.
 */
export async function verifyUntil(handle, { word }) {
  const arena = await Arena.attach(handle);
  let verifications = 0;
  while (Atomics.load(new Int32Array(arena.memory.buffer, word, 1), 0) === 0) {
    try {
      arena.verify();
    } catch (error) {
      assert.equal(error.code, 'Corrupt');
    }
    verifications += 1;
  }
  arena.detach();
  return { verifications };
}

/** A short life: attaches, works a little, detaches. Or says why it could not. */
export async function shortLife(handle) {
  try {
    const arena = await Arena.attach(handle);
    const { slot } = arena;
    const pointers = Array.from({ length: 100 }, (_, index) => arena.alloc(1 + index * 20));
    pointers.forEach((pointer) => arena.free(pointer));
    arena.detach();
    return { slot };
  } catch (error) {
    return { code: error.code, message: error.message };
  }
}

/** Attaches and detaches in one realm again and again. */
export async function reattach(handle, { times }) {
  const slots = new Set();
  for (let time = 0; time < times; time += 1) {
    const arena = await Arena.attach(handle);
    arena.free(arena.alloc(64));
    // Figures and refusals leave nothing either.
    arena.stats();
    assert.throws(() => arena.free(16), { code: 'Foreign' });
    slots.add(arena.slot);
    arena.detach();
  }
  return { slots: [...slots] };
}

/** Frees what another agent allocated; says what was refused. */
export async function freeAll(handle, { pointers }) {
  const arena = await Arena.attach(handle);
  const codes = pointers.map((pointer) => {
    try {
      arena.free(pointer);
      return 'freed';
    } catch (error) {
      return error.code;
    }
  });
  arena.detach();
  return { codes };
}

/** Cycles of a module that imports C's names; how many were not done. */
export async function importCNames(handle) {
  const address = pathToFileURL(`${process.env.WARENA_ROOT}/benches/host/importer.mjs`).href;
  const { importer } = await import(address);
  const arena = await Arena.attach(handle);
  const array = arena.alloc(4 * 100);
  const cycles = importer(arena.memory, arena.cNames());
  let missing = 0;
  for (const size of [16, 64, 1000, 5000]) {
    missing += cycles(300, 100, size, array);
  }
  arena.free(array);
  arena.detach();
  return missing;
}
