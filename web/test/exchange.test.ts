import { describe, expect, test } from 'vitest';
import { Exchange, QUEUE_LISTS } from '../src/model/exchange.ts';

function exchangeOf(workers: number): Exchange {
  return new Exchange(Exchange.makeRoom(workers, 4), workers, 4);
}

/** Leaves a list of objects for the next worker; false when the queue is full. */
function leave(exchange: Exchange, worker: number, ...pointers: number[]): boolean {
  const list = exchange.filling(worker);
  list.clear();
  pointers.forEach((pointer, index) => list.push(pointer, 100 + index, 7 + index));
  return exchange.leave(worker);
}

describe('the exchange', () => {
  test('hands each list to the next worker, in order', () => {
    const exchange = exchangeOf(3);
    expect(exchange.incoming(1)).toBeUndefined();
    leave(exchange, 0, 0xffff_fff0, 32);
    leave(exchange, 0, 48);
    expect(exchange.incoming(0)).toBeUndefined();
    const first = exchange.incoming(1)!;
    expect(first.length).toBe(2);
    expect([first.pointer(0), first.bytes(0), first.sequence(0)]).toEqual([0xffff_fff0, 100, 7]);
    exchange.finish(1);
    const second = exchange.incoming(1)!;
    expect([second.length, second.pointer(0)]).toEqual([1, 48]);
    exchange.finish(1);
    expect(exchange.incoming(1)).toBeUndefined();
  });

  test('is a ring', () => {
    const exchange = exchangeOf(3);
    leave(exchange, 2, 64);
    expect(exchange.incoming(0)!.pointer(0)).toBe(64);
  });

  test('refuses a list when the queue is full, and takes one again after one is finished', () => {
    const exchange = exchangeOf(2);
    for (let list = 0; list < QUEUE_LISTS; list += 1) {
      expect(leave(exchange, 0, 16 * (list + 1))).toBe(true);
    }
    expect(leave(exchange, 0, 160)).toBe(false);
    expect(exchange.filling(0).pointer(0)).toBe(160);
    expect(exchange.allIncoming(1).map((list) => list.pointer(0))).toEqual([16, 32, 48]);
    exchange.finish(1);
    expect(exchange.leave(0)).toBe(true);
    expect(exchange.filling(0).length).toBe(0);
  });
});
