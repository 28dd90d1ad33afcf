/**
 * What an arena can be made with. The package checks that each is a number and what concerns the
 * memory; the allocator checks the ranges of its own settings and names the one that is wrong.
 */
import { ArenaError, shown } from './error.js';
import { FACTS } from './generated/facts.js';

/** How to make an arena. Everything may be left out. */
export interface ArenaOptions {
  /**
   * The most bytes that the memory may grow to: 2 MiB ..= 4 GiB, a multiple of 64 KiB. Default
   * 256 MiB. Engines reserve this much address space when the memory is made. It belongs to the
   * memory, so it may only be given again for the same value once this realm has one.
   */
  maximumBytes?: number;
  /** Orders that each worker caches: 0 ..= 12. Default 8, objects up to 2 KiB. 0: no caches. */
  cachedOrders?: number;
  /** Objects that a worker's cache holds for each order: 1 ..= 256. Default 16. */
  capacity?: number;
  /** Objects that move between layers at once: 1 ..= `capacity`. Default 8. */
  batch?: number;
  /**
   * Objects that a transfer cache holds for its order: `batch` ..= 1024, or 0 for no transfer
   * caches. Default 64.
   */
  transferCapacity?: number;
  /** Workers that can be attached at one time: 1 ..= 8192. Default 256. */
  maximumWorkers?: number;
}

/** Bytes of a page of WebAssembly memory. @internal */
export const PAGE_BYTES = 65_536;
/** The default of {@link ArenaOptions.maximumBytes}. @internal */
export const DEFAULT_MAXIMUM_BYTES = 256 << 20;
const LEAST_MAXIMUM_BYTES = 2 << 20;
const MOST_MAXIMUM_BYTES = 2 ** 32;

/** The settings of the allocator, all of them given. @internal */
export interface Settings {
  cachedOrders: number;
  capacity: number;
  batch: number;
  transferCapacity: number;
  maximumWorkers: number;
}

function invalid(name: string, value: unknown, range: string): ArenaError {
  return new ArenaError('InvalidOption', `Arena.create: ${name} is ${String(value)}; it must be ${range}`);
}

/** The settings in the options, each an unsigned 32-bit integer. @internal */
export function settings(options: ArenaOptions): Settings {
  const { cachedOrders, capacity, batch, transferCapacity, maxWorkers } = FACTS.defaultConfig;
  const result: Settings = { cachedOrders, capacity, batch, transferCapacity, maximumWorkers: maxWorkers };
  for (const name of Object.keys(result) as (keyof Settings)[]) {
    const value: unknown = options[name];
    if (value === undefined) {
      continue;
    }
    if (typeof value !== 'number' || value >>> 0 !== value) {
      throw invalid(name, value, 'an integer, 0 or more');
    }
    result[name] = value;
  }
  return result;
}

/** The memory's maximum in the options, checked; undefined when it is left out. @internal */
export function maximumBytes(options: ArenaOptions): number | undefined {
  const value: unknown = options.maximumBytes;
  if (value === undefined) {
    return undefined;
  }
  const inRange =
    typeof value === 'number' &&
    value >= LEAST_MAXIMUM_BYTES &&
    value <= MOST_MAXIMUM_BYTES &&
    value % PAGE_BYTES === 0;
  if (!inRange) {
    const range = `${shown(LEAST_MAXIMUM_BYTES)} ..= ${shown(MOST_MAXIMUM_BYTES)} bytes`;
    throw invalid('maximumBytes', value, `a multiple of ${shown(PAGE_BYTES)} (64 KiB), ${range}`);
  }
  return value;
}

/** Refuses anything but an object, and options that there are none of: a typing mistake. @internal */
export function checkOptions(options: unknown): asserts options is ArenaOptions {
  if (typeof options !== 'object' || options === null) {
    throw new ArenaError('InvalidOption', `Arena.create: options is ${shown(options)}; it must be an object`);
  }
  const known = ['maximumBytes', ...Object.keys(settings({}))];
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) {
      throw new ArenaError(
        'InvalidOption',
        `Arena.create: there is no option ${JSON.stringify(name)}; there are ${known.join(', ')}`,
      );
    }
  }
}
