/**
 * What a worker holds, read from the shared memory that its work notes its objects in. That outlives
 * the worker: so the page knows what one that was ended has left, and can take it over.
 */
import type { Work } from '../workers/protocol.ts';
import { Exchange } from './exchange.ts';
import { ObjectList } from './object_list.ts';
import { ABSENT, EMPTY, NONE, type Program } from './trace.ts';

/** An object and the stamp that it carries. */
export interface HeldObject {
  pointer: number;
  /** Bytes that were asked for. */
  bytes: number;
  owner: number;
  sequence: number;
}

/** The objects that `worker` holds, for a moment when nobody runs. */
export function heldObjects(work: Work, worker: number): HeldObject[] {
  switch (work.kind) {
    case 'malloc-free':
      return listed(ObjectList.in(work.held), worker);
    case 'malloc-xfree': {
      const exchange = new Exchange(work.exchange, work.workers, work.objects);
      const giver = exchange.giver(worker);
      return [
        ...listed(exchange.filling(worker), worker),
        ...exchange.allIncoming(worker).flatMap((list) => listed(list, giver)),
      ];
    }
    case 'trace':
      return entries(work.program, (object) => Atomics.load(work.program.pointers, object));
  }
}

/** Takes over the objects that `worker` held, which has ended. Others may run. */
export function takeObjects(work: Work, worker: number): HeldObject[] {
  switch (work.kind) {
    case 'malloc-free':
      return emptied(ObjectList.in(work.held), worker);
    case 'malloc-xfree': {
      const exchange = new Exchange(work.exchange, work.workers, work.objects);
      const taken = emptied(exchange.filling(worker), worker);
      for (let list; (list = exchange.incoming(worker)) !== undefined; exchange.finish(worker)) {
        taken.push(...listed(list, exchange.giver(worker)));
      }
      return taken;
    }
    case 'trace':
      return entries(work.program, (object) =>
        Atomics.exchange(work.program.pointers, object, EMPTY),
      );
  }
}

function listed(list: ObjectList, owner: number): HeldObject[] {
  const { freed, length } = list;
  return Array.from({ length: Math.max(0, length - freed) }, (_, index) => ({
    pointer: list.pointer(freed + index),
    bytes: list.bytes(freed + index),
    owner,
    sequence: list.sequence(freed + index),
  }));
}

function emptied(list: ObjectList, owner: number): HeldObject[] {
  const objects = listed(list, owner);
  list.clear();
  return objects;
}

/** The objects that a program would take over and that are there. */
function entries(
  { source, size, maker }: Program,
  read: (object: number) => number,
): HeldObject[] {
  const objects: HeldObject[] = [];
  for (const object of source) {
    const entry = object === NONE ? EMPTY : read(object);
    if (entry !== EMPTY && entry !== ABSENT) {
      objects.push({
        pointer: entry >>> 0,
        bytes: size[object]!,
        owner: maker[object]!,
        sequence: object,
      });
    }
  }
  return objects;
}

/** Bytes that were asked for by all of some objects. */
export function bytesOf(objects: readonly { bytes: number }[]): number {
  return objects.reduce((sum, { bytes }) => sum + bytes, 0);
}
