/** What a worker holds is read from shared memory, at whatever point it was ended. */
import { describe, expect, test } from 'vitest';
import { Exchange } from '../src/model/exchange.ts';
import { bytesOf, heldObjects, takeObjects } from '../src/model/held_objects.ts';
import { ObjectList } from '../src/model/object_list.ts';
import { ABSENT, NONE, type Program } from '../src/model/trace.ts';
import type { Work } from '../src/workers/protocol.ts';

const pointers = (objects: { pointer: number }[]) => objects.map(({ pointer }) => pointer);

test('of malloc-free: what entered the list and is not freed', () => {
  const held = ObjectList.makeRoom(4);
  const list = ObjectList.in(held);
  [16, 32, 48].forEach((pointer, index) => list.push(pointer, 10, index));
  expect(list.takeNext()).toBe(0);
  const work: Work = { kind: 'malloc-free', objects: 4, bytes: 10, held };
  expect(heldObjects(work, 3)).toEqual([
    { pointer: 32, bytes: 10, owner: 3, sequence: 1 },
    { pointer: 48, bytes: 10, owner: 3, sequence: 2 },
  ]);
  expect(bytesOf(takeObjects(work, 3))).toBe(20);
  expect(takeObjects(work, 3)).toEqual([]);
});

describe('of malloc-xfree', () => {
  test('what it was filling, and what was left for it, the list in its hands included', () => {
    const room = Exchange.makeRoom(3, 4);
    const exchange = new Exchange(room, 3, 4);
    const fill = (worker: number, ...objects: number[]) =>
      objects.forEach((pointer) => exchange.filling(worker).push(pointer, 8, 0));
    fill(0, 16, 32);
    exchange.leave(0);
    fill(0, 48);
    exchange.leave(0);
    fill(0, 64);
    fill(1, 80);
    exchange.leave(1);
    fill(1, 96);
    exchange.incoming(1)!.takeNext();
    const work: Work = { kind: 'malloc-xfree', objects: 4, bytes: 8, exchange: room, workers: 3 };
    expect(pointers(heldObjects(work, 1))).toEqual([96, 32, 48]);
    expect(heldObjects(work, 1).map(({ owner }) => owner)).toEqual([1, 0, 0]);
    expect(pointers(takeObjects(work, 1))).toEqual([96, 32, 48]);
    expect(heldObjects(work, 1)).toEqual([]);
    // What the others have is untouched.
    expect(pointers(heldObjects(work, 0))).toEqual([64]);
    expect(pointers(heldObjects(work, 2))).toEqual([80]);
  });
});

test('of a trace: what its program would take over and is there', () => {
  const table = new Int32Array(new SharedArrayBuffer(16));
  table.set([16, ABSENT, 0, 0xffff_fff0 | 0]);
  const program: Program = {
    source: Uint32Array.of(NONE, 3, 1, 2),
    target: Uint32Array.of(0, NONE, NONE, NONE),
    size: Uint32Array.of(1, 2, 3, 4),
    alignmentLog2: new Uint8Array(4),
    zeroed: new Uint8Array(4),
    maker: Uint8Array.of(0, 0, 0, 1),
    pointers: table,
  };
  const work: Work = { kind: 'trace', objects: 1, program };
  const held = [{ pointer: 0xffff_fff0, bytes: 4, owner: 1, sequence: 3 }];
  expect(heldObjects(work, 0)).toEqual(held);
  expect(takeObjects(work, 0)).toEqual(held);
  expect([...table]).toEqual([16, 0, 0, 0]);
});
