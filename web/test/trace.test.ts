import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { NONE, compileTrace, parseTrace, type Program, type Trace } from '../src/model/trace.ts';
import { TRACES, type TraceName } from '../src/model/trace_catalogue.ts';
import { unpack } from '../src/model/trace_file.ts';

async function load(name: TraceName): Promise<Trace> {
  const file = new URL(`../public/traces/${name}.wtrace.gz`, import.meta.url);
  return parseTrace(await unpack(new Uint8Array(readFileSync(file))));
}

/** Replays programs in turn, as far as each can go, and counts. Throws when all of them are stuck. */
function replay(programs: Program[]) {
  const live = new Set<number>();
  const next = programs.map(() => 0);
  let bytes = 0;
  let peak = 0;
  const total = programs.reduce((sum, { source }) => sum + source.length, 0);
  for (let done = 0; done < total; ) {
    const before = done;
    programs.forEach(({ source, target, size }, worker) => {
      for (; next[worker]! < source.length; next[worker]! += 1, done += 1) {
        const from = source[next[worker]!]!;
        const to = target[next[worker]!]!;
        if (from !== NONE && !live.has(from)) {
          return;
        }
        if (to !== NONE) {
          if (live.has(to)) {
            throw new Error(`object ${to} is made twice`);
          }
          live.add(to);
          bytes += size[to]!;
          peak = Math.max(peak, bytes);
        }
        if (from !== NONE) {
          live.delete(from);
          bytes -= size[from]!;
        }
      }
    });
    if (done === before) {
      throw new Error('no worker can go on');
    }
  }
  return { total, live: live.size, peak };
}

describe.each(Object.entries(TRACES))('the trace %s', (name, { operations, threads }) => {
  const loaded = load(name as TraceName);

  test('is as its description says', async () => {
    const trace = await loaded;
    expect(trace.operations).toBe(operations);
    expect(trace.threads).toBe(threads);
  });

  test('replayed by one worker frees everything, at the recorded peak', async () => {
    const trace = await loaded;
    const result = replay(compileTrace(trace, 1, true));
    expect(result).toMatchObject({ total: operations, live: 0 });
    // Here a realloc holds both objects for a moment.
    expect(result.peak).toBeGreaterThanOrEqual(trace.peakBytes);
    expect(result.peak).toBeLessThan(trace.peakBytes * 1.2);
  });

  test('spread over workers never gets stuck', async () => {
    const trace = await loaded;
    for (const workers of [2, 3, 8]) {
      expect(replay(compileTrace(trace, workers, false))).toMatchObject({ total: operations, live: 0 });
    }
  });
});

describe('a trace file', () => {
  test('without the magic is refused', () => {
    expect(() => parseTrace(new TextEncoder().encode('<!doctype html>'))).toThrow(/not a trace/);
  });

  test('that was cut off is refused with both lengths', () => {
    const bytes = new Uint8Array(24);
    bytes.set(new TextEncoder().encode('WTRACE1\0'));
    bytes[8] = 2;
    expect(() => parseTrace(bytes)).toThrow('2 operations is 48 bytes long, this one 24');
  });

  test('that frees what is not live is refused', () => {
    const bytes = new Uint8Array(36);
    bytes.set(new TextEncoder().encode('WTRACE1\0'));
    bytes[8] = 1;
    bytes[32] = 1;
    expect(() => compileTrace(parseTrace(bytes), 1, true)).toThrow(/frees id 0, which is not live/);
  });

  test('with objects left over frees them at the end, by who made them', () => {
    const bytes = new Uint8Array(24 + 24);
    bytes.set(new TextEncoder().encode('WTRACE1\0'));
    bytes[8] = 2;
    bytes[24 + 12] = 1;
    bytes[24 + 12 + 9] = 1;
    const programs = compileTrace(parseTrace(bytes), 2, false);
    expect(programs.map(({ source }) => [...source])).toEqual([
      [NONE, 0],
      [NONE, 1],
    ]);
    expect(replay(programs).live).toBe(0);
  });

  test('asks for an alignment where the program did, and only there', () => {
    const bytes = new Uint8Array(24 + 24);
    bytes.set(new TextEncoder().encode('WTRACE1\0'));
    bytes[8] = 2;
    bytes.set([0, 0, 0, 0, 100, 0, 0, 0, 4, 0, 6, 0], 24);
    bytes.set([1, 0, 0, 0, 100, 0, 0, 0, 0, 0, 4, 0], 36);
    const [program] = compileTrace(parseTrace(bytes), 1, true);
    expect([...program!.alignmentLog2]).toEqual([6, 0]);
    expect([...program!.size]).toEqual([100, 100]);
  });

  test('is read whether or not the server has unpacked it', async () => {
    const plain = new TextEncoder().encode('WTRACE1\0');
    expect([...(await unpack(plain))]).toEqual([...plain]);
  });
});
