/**
 * The colours of blocks. The order gives the hue: a ramp from magenta (16 B) through yellow, green
 * and blue to violet (1 MiB), even and odd orders a little apart in lightness, so that two buddies
 * of different order are told apart. The state gives the shade and the pattern:
 *
 * | state       | look                                  |
 * | ----------- | ------------------------------------- |
 * | free        | almost the ground, outlined           |
 * | never used  | the same, nearer to the ground        |
 * | allocated   | solid                                 |
 * | cached      | a light tint, hatched                 |
 * | in transfer | ground and full colour, checked       |
 * | deferred    | solid red, whatever the order         |
 * | metadata    | grey                                  |
 */
import { BlockState } from 'warena';
import { LARGEST_ORDER } from '../model/order.ts';
import { pixel, type Pixel } from './colour.ts';

/** How a block's pixels are mixed from `fill` and `pattern`. */
export const Pattern = { Solid: 0, Hatched: 1, Checked: 2 } as const;

/** The colours of blocks, indexed by map byte (state << 5 | order). */
export interface Palette {
  fill: Uint32Array;
  /** The second colour of a hatched or checked block. */
  pattern: Uint32Array;
  /** The line between blocks. */
  edge: Uint32Array;
}

export type Scheme = 'dark' | 'light';

interface Shades {
  allocated: [lightness: number, chroma: number];
  allocatedEdge: [number, number];
  cached: [number, number];
  free: [number, number];
  freeEdge: [number, number];
  zeroed: [number, number];
  metadata: number;
  metadataEdge: number;
  ground: number;
}

const SHADES: Record<Scheme, Shades> = {
  dark: {
    allocated: [0.73, 0.135],
    allocatedEdge: [0.46, 0.09],
    cached: [0.9, 0.06],
    free: [0.27, 0.035],
    zeroed: [0.215, 0.012],
    freeEdge: [0.38, 0.04],
    metadata: 0.42,
    metadataEdge: 0.52,
    ground: 0.19,
  },
  light: {
    allocated: [0.68, 0.15],
    allocatedEdge: [0.5, 0.12],
    cached: [0.9, 0.055],
    free: [0.95, 0.022],
    zeroed: [0.985, 0.006],
    freeEdge: [0.87, 0.03],
    metadata: 0.72,
    metadataEdge: 0.6,
    ground: 1,
  },
};

const FIRST_HUE = 345;
const HUE_RANGE = 320;

/** The hue of an order, in degrees. */
export function orderHue(order: number): number {
  return (FIRST_HUE + (order / LARGEST_ORDER) * HUE_RANGE) % 360;
}

/** The pattern of a state. */
export function statePattern(state: number): number {
  if (state === BlockState.Cached) {
    return Pattern.Hatched;
  }
  return state === BlockState.Transfer ? Pattern.Checked : Pattern.Solid;
}

/** The palette for a dark or a light page. */
export function makePalette(scheme: Scheme): Palette {
  const shades = SHADES[scheme];
  const palette: Palette = {
    fill: new Uint32Array(256),
    pattern: new Uint32Array(256),
    edge: new Uint32Array(256),
  };
  const set = (state: number, order: number, fill: Pixel, pattern: Pixel, edge: Pixel) => {
    const tone = (state << 5) | order;
    palette.fill[tone] = fill;
    palette.pattern[tone] = pattern;
    palette.edge[tone] = edge;
  };
  for (let order = 0; order <= LARGEST_ORDER; order += 1) {
    const hue = orderHue(order);
    const step = order % 2 === 0 ? 0 : 0.055;
    const shade = ([lightness, chroma]: [number, number]) => pixel(lightness + step, chroma, hue);
    const allocated = shade(shades.allocated);
    const edge = shade(shades.allocatedEdge);
    const ground = pixel(shades.ground, 0.01, 260);
    const free = pixel(...shades.free, hue);
    const red = pixel(0.6, 0.22, 27);
    set(BlockState.Interior, order, ground, ground, ground);
    set(BlockState.Free, order, free, free, pixel(...shades.freeEdge, hue));
    const zeroed = pixel(...shades.zeroed, hue);
    set(BlockState.Zeroed, order, zeroed, zeroed, pixel(...shades.freeEdge, hue));
    set(BlockState.Allocated, order, allocated, allocated, edge);
    set(BlockState.Cached, order, pixel(...shades.cached, hue), allocated, edge);
    set(BlockState.Transfer, order, ground, allocated, edge);
    set(BlockState.Deferred, order, red, red, edge);
    const grey = pixel(shades.metadata, 0.012, 260);
    set(BlockState.Metadata, order, grey, grey, pixel(shades.metadataEdge, 0.012, 260));
  }
  return palette;
}
