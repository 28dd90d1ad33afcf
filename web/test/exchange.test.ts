import { describe, expect, test } from 'vitest';
import { Exchange, QUEUE_LISTS } from '../src/model/exchange.ts';
import { ObjectList } from '../src/model/object_list.ts';

function listOf(...pointers: number[]): ObjectList {
  const list = new ObjectList(4);
  pointers.forEach((pointer, index) => list.push(pointer, 100 + index, 7 + index));
  return list;
}

describe('the exchange', () => {
  test('hands each list to the next worker, in order', () => {
    const exchange = Exchange.create(3, 4);
    const taken = new ObjectList(4);
    expect(exchange.take(1, taken)).toBe(false);
    exchange.put(0, listOf(0xffff_fff0, 32));
    exchange.put(0, listOf(48));
    expect(exchange.take(0, taken)).toBe(false);
    expect(exchange.take(1, taken)).toBe(true);
    expect(taken.length).toBe(2);
    expect([taken.pointer(0), taken.bytes(0), taken.sequence(0)]).toEqual([0xffff_fff0, 100, 7]);
    expect(exchange.take(1, taken)).toBe(true);
    expect([taken.length, taken.pointer(0)]).toEqual([1, 48]);
  });

  test('is a ring', () => {
    const exchange = Exchange.create(3, 4);
    const taken = new ObjectList(4);
    exchange.put(2, listOf(64));
    expect(exchange.take(0, taken)).toBe(true);
    expect(taken.pointer(0)).toBe(64);
  });

  test('refuses a list when the queue is full, and takes one again after a take', () => {
    const exchange = Exchange.create(2, 4);
    const taken = new ObjectList(4);
    for (let list = 0; list < QUEUE_LISTS; list += 1) {
      expect(exchange.put(0, listOf(16 * (list + 1)))).toBe(true);
    }
    expect(exchange.put(0, listOf(160))).toBe(false);
    expect(exchange.take(1, taken)).toBe(true);
    expect(exchange.put(0, listOf(160))).toBe(true);
  });
});
