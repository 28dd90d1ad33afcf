/** A sparkline: the last rates of a meter as an SVG path, scaled to their maximum. */

/** The path of `values` in a box of `width` × `height`; the newest value is at the right end. */
export function sparklinePath(
  values: readonly number[],
  capacity: number,
  width: number,
  height: number,
): string {
  const most = Math.max(...values, 1e-9);
  const step = width / (capacity - 1);
  const first = width - (values.length - 1) * step;
  return values
    .map((value, index) => {
      const x = (first + index * step).toFixed(1);
      const y = (height - 1 - (value / most) * (height - 2)).toFixed(1);
      return `${index === 0 ? 'M' : 'L'}${x} ${y}`;
    })
    .join('');
}
