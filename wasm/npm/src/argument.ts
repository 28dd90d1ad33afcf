/**
 * What calls are given: sizes, counts and pointers, looked at before they reach the module, which
 * would cut anything else down to 32 bits.
 */
import { UNIT_BYTES } from './block.js';
import { ArenaError, shown, type ArenaErrorDetails } from './error.js';

/** Whether a value is an unsigned 32-bit integer. @internal */
export function isUnsigned(value: unknown): value is number {
  return typeof value === 'number' && value >>> 0 === value;
}

/** A number as an error's detail; nothing for what is none. */
function detail(name: keyof ArenaErrorDetails, value: unknown): ArenaErrorDetails {
  return typeof value === 'number' ? { [name]: value } : {};
}

/** The error for a size that is none. @internal */
export function badSize(call: string, bytes: unknown): ArenaError {
  return new ArenaError(
    'InvalidSize',
    `${call}: the size is ${shown(bytes)}; it must be an integer of 0 ..= 0xffffffff`,
    detail('bytes', bytes),
  );
}

/** The error for a number of things that is none. @internal */
export function badCount(call: string, count: unknown, wanted: string): ArenaError {
  return new ArenaError('InvalidSize', `${call}: the count is ${shown(count)}; it must be ${wanted}`);
}

/** The error for an alignment that is no integer. @internal */
export function badAlignment(call: string, alignment: unknown): ArenaError {
  return new ArenaError(
    'BadAlignment',
    `${call}: the alignment is ${shown(alignment)}; it must be a power of two, 1 ..= 0x100000`,
  );
}

/**
 * A pointer in either form as an unsigned number: WebAssembly hands the upper half out negative.
 *
 * @internal
 */
export function unsigned(call: string, pointer: unknown): number {
  if (typeof pointer !== 'number' || (pointer >>> 0 !== pointer && (pointer | 0) !== pointer)) {
    throw new ArenaError(
      'InvalidPointer',
      `${call}: the pointer is ${shown(pointer)}; it must be a 32-bit integer, as alloc returns it ` +
        `(a multiple of ${UNIT_BYTES})`,
      detail('pointer', pointer),
    );
  }
  return pointer >>> 0;
}

/** A copy of an array of pointers, unsigned. @internal */
export function unsignedAll(call: string, pointers: unknown): Uint32Array {
  if (!Array.isArray(pointers) && !(ArrayBuffer.isView(pointers) && 'length' in pointers)) {
    throw new ArenaError(
      'InvalidPointer',
      `${call}: the pointers are ${shown(pointers)}; they must be an array of 32-bit integers`,
    );
  }
  return Uint32Array.from(pointers as ArrayLike<unknown>, (pointer) => unsigned(call, pointer));
}
