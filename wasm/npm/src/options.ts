/**
 * What an arena can be made with, and the check of it: before any memory is made, and naming the
 * option and its range. The limits come from the module, which checks once more.
 */
import { ArenaError, shown } from './error.js';
import { FACTS } from './generated/facts.js';

/** How to make an arena. Everything may be left out. */
export interface ArenaOptions {
  /**
   * The most bytes that the memory may grow to: 3 MiB ..= 4 GiB, a multiple of 64 KiB. Default
   * 256 MiB. Engines reserve this much address space when the memory is made. It belongs to the
   * memory, so once this realm has one it can only be given with the same value, or left out.
   */
  maximumBytes?: number;
  /** Orders that each worker caches: 0 ..= 12. Default 8, objects up to 2 KiB. 0: no caches. */
  cachedOrders?: number;
  /**
   * Objects that a worker's cache holds for each order: 1 ..= 256. Default 16. It comes to hold more
   * where bursts need it.
   */
  capacity?: number;
  /**
   * Objects that a worker's cache may come to hold for an order, where the worker keeps allocating and
   * freeing more than it holds: `capacity` ..= 1024. Default 1024; beyond `capacity` at most 64 KiB.
   */
  burstCapacity?: number;
  /** Objects that move between layers at once: 1 ..= `capacity`. Default 8. */
  batch?: number;
  /**
   * Objects that a transfer cache holds for its order: `batch` ..= 1024, or 0 for no transfer
   * caches. Default 64.
   */
  transferCapacity?: number;
  /** Workers that can be attached at one time: 1 ..= 8192. Default 256. */
  maximumWorkers?: number;
  /**
   * Chunks of 1 MiB that the arena may own: 1 ..= 4096. Default 4096, so that only the memory's
   * maximum holds. Keeps one of several arenas on a memory from taking all of it.
   */
  maximumChunks?: number;
}

/** {@link ArenaOptions}, all of them given but the memory's. @internal */
export interface Settings extends Required<Omit<ArenaOptions, 'maximumBytes'>> {
  maximumBytes: number | undefined;
}

/** Bytes of a page of WebAssembly memory. @internal */
export const PAGE_BYTES = 65_536;
/** The default of {@link ArenaOptions.maximumBytes}. @internal */
export const DEFAULT_MAXIMUM_BYTES = 256 << 20;
/** One chunk that begins with the module's static data, one of its own heap, one for an arena. */
const LEAST_MAXIMUM_BYTES = 3 << 20;
const MOST_MAXIMUM_BYTES = 2 ** 32;

function invalid(message: string): ArenaError {
  return new ArenaError('InvalidOption', `Arena.create: ${message}`);
}

function inRange(value: unknown, least: number, most: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most;
}

/** The options with what was left out, each in its range. @internal */
export function settings(options: unknown): Settings {
  if (typeof options !== 'object' || options === null) {
    throw invalid(`options is ${shown(options)}; it must be an object, or be left out`);
  }
  const {
    cachedOrders,
    capacity,
    burstCapacity,
    batch,
    transferCapacity,
    maxWorkers,
    maxChunks,
  } = FACTS.defaultConfig;
  const result: Settings = {
    maximumBytes: undefined,
    cachedOrders,
    capacity,
    burstCapacity,
    batch,
    transferCapacity,
    maximumWorkers: maxWorkers,
    maximumChunks: maxChunks,
  };
  for (const [name, value] of Object.entries(options)) {
    // A name that there is none of is a slip of the pen, and would else be an option without effect.
    if (!Object.hasOwn(result, name)) {
      throw invalid(
        `there is no option ${JSON.stringify(name)}; there are ${Object.keys(result).join(', ')}`,
      );
    }
    if (value !== undefined) {
      result[name as keyof Settings] = value as number;
    }
  }
  check('cachedOrders', result, 0, FACTS.maxCachedOrders);
  check('capacity', result, 1, FACTS.maxCapacity);
  check(
    'burstCapacity',
    result,
    result.capacity,
    FACTS.maxBurstCapacity,
    ' (from the capacity on)',
  );
  check('batch', result, 1, result.capacity, ', the capacity');
  if (result.transferCapacity !== 0) {
    check(
      'transferCapacity',
      result,
      result.batch,
      FACTS.maxTransferCapacity,
      ' (from the batch on), or 0 for none',
    );
  }
  check('maximumWorkers', result, 1, FACTS.maxWorkers);
  check('maximumChunks', result, 1, FACTS.layout.maxChunks);
  checkMaximumBytes(result.maximumBytes);
  return result;
}

function check(
  name: keyof Settings,
  settings: Settings,
  least: number,
  most: number,
  note = '',
): void {
  const value: unknown = settings[name];
  if (!inRange(value, least, most)) {
    throw invalid(
      `${name} is ${shownDecimal(value)}; it must be an integer of ${least} ..= ${most}${note}`,
    );
  }
}

function checkMaximumBytes(value: unknown): void {
  const [least, most] = [LEAST_MAXIMUM_BYTES, MOST_MAXIMUM_BYTES];
  if (value !== undefined && !(inRange(value, least, most) && value % PAGE_BYTES === 0)) {
    throw invalid(
      `maximumBytes is ${shownDecimal(value)}; it must be a multiple of ${PAGE_BYTES} (64 KiB) of ` +
        `${least} ..= ${most} (3 MiB ..= 4 GiB)`,
    );
  }
}

/** Options are counts, which people write in decimal. */
function shownDecimal(value: unknown): string {
  return typeof value === 'number' ? String(value) : shown(value);
}
