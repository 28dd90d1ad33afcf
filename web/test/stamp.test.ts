import { describe, expect, test } from 'vitest';
import { Stamps } from '../src/model/stamp.ts';

function memory(): WebAssembly.Memory {
  return new WebAssembly.Memory({ initial: 1, maximum: 4, shared: true });
}

describe('owner stamps', () => {
  test.each([1, 3, 7, 8, 13, 16, 17, 64, 1000])('hold on an object of %i bytes', (bytes) => {
    const stamps = new Stamps(memory());
    stamps.write(32, bytes, 3, 0xffff_ffff);
    expect(stamps.check(32, bytes, 3, 0xffff_ffff)).toBeUndefined();
    expect(stamps.check(32, bytes, 2, 0xffff_ffff)?.place).toBe('head');
  });

  test('show an overlap at the head and at the tail', () => {
    const stamps = new Stamps(memory());
    stamps.write(64, 64, 1, 10);
    stamps.write(96, 32, 2, 20);
    expect(stamps.check(64, 64, 1, 10)).toMatchObject({ place: 'tail', found: [2, 20] });
    stamps.write(64, 16, 3, 30);
    expect(stamps.check(64, 64, 1, 10)).toMatchObject({ place: 'head', found: [3, 30] });
  });

  test('reach memory that has grown since', () => {
    const grown = memory();
    const stamps = new Stamps(grown);
    grown.grow(1);
    stamps.write(70_000 & ~15, 100, 1, 1);
    expect(stamps.check(70_000 & ~15, 100, 1, 1)).toBeUndefined();
  });
});
