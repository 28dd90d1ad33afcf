import { expect, test } from 'vitest';
import type { Verification } from 'warena';
import { settle } from '../src/model/account.ts';
import { verdict } from '../src/model/verdict.ts';

const at = (...pointers: number[]) => pointers.map((pointer) => ({ pointer }));

test('an account finds what is missing, and what nobody knows of', () => {
  expect(settle(at(16, 32, 48), at(32, 16))).toEqual({ missing: 0, unknown: at(48) });
  expect(settle(at(16), at(16, 16, 64))).toEqual({ missing: 2, unknown: [] });
});

const proof = { blocks: 9, chunks: 1, hugeBlocks: 0, ownedBytes: 2 ** 20, allocatedObjects: 5 };
const judge = (held: number, left: number, missing = 0, lost = 0) =>
  verdict(proof as Verification, { held, left, missing, lost });

test('a verdict is good when every object is somebody’s', () => {
  expect(judge(5, 0)).toMatchObject({ kind: 'good', title: 'Verified' });
  expect(judge(3, 2).message).toMatch(/3 objects that the workers hold and the 2 that killed ones left/);
  expect(judge(4, 0).kind).toBe('error');
  expect(judge(5, 0, 1).kind).toBe('error');
  expect(judge(3, 2, 0, 2).message).toMatch(/2 are nobody's/);
});
