/**
 * Errors: one class with a code, and the sentence that says what was wrong and what to do.
 *
 * What the allocator itself refuses comes with code and message from the module; the package adds
 * the call and its argument. Numbers of bytes and addresses are written in hex.
 */
import type { RefusalCode } from './glue/warena_wasm.js';

/** What went wrong: those of the allocator, and those of the package around it. */
export type ArenaErrorCode =
  | RefusalCode
  /** The page is not cross-origin isolated, so there is no shared memory. */
  | 'NotIsolated'
  /** The module or its memory cannot be made or started here. */
  | 'CannotLoad'
  /** This realm's memory is another one. */
  | 'OtherMemory'
  /** A pointer that is not a 32-bit integer. */
  | 'InvalidPointer'
  /** Bytes that reach beyond the memory. */
  | 'OutOfBounds'
  /** The arena was detached. */
  | 'Detached'
  /** The agent that was to be reaped is not known to have ended. */
  | 'Live'
  /** The worker that was to be watched has ended already. */
  | 'Ended';

/** What an error is about, besides its code. */
export interface ArenaErrorDetails {
  /** The pointer or address, unsigned. */
  pointer?: number;
  /** The size, in bytes. */
  bytes?: number;
  /** The error behind this one. */
  cause?: unknown;
}

/** Every error that this package throws on purpose. */
export class ArenaError extends Error {
  /** What went wrong. */
  readonly code: ArenaErrorCode;
  /** The pointer or address that it is about, unsigned, where there is one. */
  declare readonly pointer?: number;
  /** The size that it is about, in bytes, where there is one. */
  declare readonly bytes?: number;

  constructor(code: ArenaErrorCode, message: string, details: ArenaErrorDetails = {}) {
    super(`${message} [${code}]`, 'cause' in details ? { cause: details.cause } : undefined);
    this.code = code;
    if (details.pointer !== undefined) {
      this.pointer = details.pointer;
    }
    if (details.bytes !== undefined) {
      this.bytes = details.bytes;
    }
  }

  override get name(): string {
    return 'ArenaError';
  }
}

/**
 * A value in a message: integers in hex, anything else as a program would write it.
 *
 * @internal
 */
export function shown(value: unknown): string {
  if (typeof value === 'number') {
    const hex = Number.isInteger(value) && value >= 0 && !Object.is(value, -0);
    return hex ? `0x${value.toString(16)}` : Object.is(value, -0) ? '-0' : String(value);
  }
  if (typeof value === 'string') {
    return JSON.stringify(value);
  }
  return typeof value === 'bigint' ? `${value}n` : value === null ? 'null' : typeof value;
}
