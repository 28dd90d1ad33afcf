import { describe, expect, test } from 'vitest';
import { FrameRate } from '../src/model/frame_rate.ts';
import { SamplePace } from '../src/model/sample_pace.ts';
import { HISTORY, Meter, counterAdvance } from '../src/model/meter.ts';

describe('a meter', () => {
  test('gives counts a second', () => {
    const meter = new Meter();
    meter.sample(0, 100);
    expect(meter.rate).toBe(0);
    meter.sample(500, 600);
    expect(meter.rate).toBe(1000);
  });

  test('follows a 32-bit counter over its end', () => {
    expect(counterAdvance(0xffff_fff0, 0x10)).toBe(0x20);
  });

  test('does not count a pause', () => {
    const meter = new Meter();
    meter.sample(0, 0);
    meter.sample(1000, 1000);
    meter.pause();
    expect(meter.rate).toBe(0);
    meter.sample(9000, 1000);
    meter.sample(10_000, 2000);
    expect(meter.rate).toBe(1000);
  });

  test('remembers so many rates', () => {
    const meter = new Meter();
    for (let time = 0; time < HISTORY * 2; time += 1) {
      meter.sample(time, time);
    }
    expect(meter.history).toHaveLength(HISTORY);
  });
});

test('the frame rate is that of the last second', () => {
  const rate = new FrameRate();
  let shown = 0;
  for (let frame = 0; frame <= 120; frame += 1) {
    shown = rate.frame(frame * 20, true);
  }
  expect(shown).toBeCloseTo(50);
  expect(rate.frame(3000, false)).toBe(0);
});

test('a sample that takes long is taken less often', () => {
  const pace = new SamplePace();
  expect(pace.isDue()).toBe(true);
  pace.took(1);
  expect(pace.isDue()).toBe(true);
  pace.took(12);
  expect([pace.isDue(), pace.isDue(), pace.isDue()]).toEqual([false, false, true]);
});
