/** Time that all workers of one host share, in milliseconds, and what times amount to. */
export const now = () => performance.timeOrigin + performance.now();

export const pause = (milliseconds) =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Resolves once `condition` holds; rejects with `what` when it does not within a bound. */
export async function until(what, condition, milliseconds = 20_000) {
  for (const end = now() + milliseconds; !condition();) {
    if (now() > end) {
      throw new Error(`after ${milliseconds / 1000} s still not: ${what()}`);
    }
    await pause(1);
  }
}

/** "median 1.2, p99 3.4, max 5.6 ms (100)", the least first. */
export function summary(times) {
  if (times.length === 0) {
    return 'none';
  }
  const sorted = [...times].sort((one, other) => one - other);
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
  const shown = [sorted[0], at(0.5), at(0.99), sorted.at(-1)].map((time) => time.toFixed(1));
  return `min ${shown[0]}, median ${shown[1]}, p99 ${shown[2]}, max ${shown[3]} ms (${times.length})`;
}
