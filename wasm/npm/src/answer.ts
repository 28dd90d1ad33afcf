/**
 * What the module's calls have to say besides an integer: why they refused, and figures.
 *
 * The module leaves it in this agent's part of the memory, so that nothing of it is on a heap when the
 * agent ends. It is read from there before the next call.
 */
import type { ArenaErrorDetails } from './error.js';
import { FACTS } from './generated/facts.js';
import * as glue from './glue/warena_wasm.js';
import type { RefusalCode } from './glue/warena_wasm.js';
import { TextDecoder } from './text_decoder.js';
import { covering } from './view.js';

/** Why the module refused a call. @internal */
export interface Refusal {
  readonly code: RefusalCode;
  readonly message: string;
  /** The block that a proof stopped at. */
  readonly details: ArenaErrorDetails;
}

/** Pointers that can be passed in one call. @internal */
export const PIECE: number = FACTS.piece;

const decoder = new TextDecoder();

/** Why the last call was refused; undefined when none was. @internal */
export function takeRefusal(memory: WebAssembly.Memory): Refusal | undefined {
  const code = FACTS.refusalCodes[glue.take_refusal() - 1];
  if (code === undefined) {
    return undefined;
  }
  const pointer = figures(memory, 1)[0]!;
  const [address, length] = [glue.text_address(), glue.text_length()];
  // Copied: a decoder takes no shared bytes.
  const text = new Uint8Array(here(memory, address + length), address, length).slice();
  return {
    code,
    message: decoder.decode(text),
    details: Number.isNaN(pointer) ? {} : { pointer },
  };
}

/** The figures of the last call, with the names of `template`, which the build asked the module for. @internal */
export function readFigures<T>(memory: WebAssembly.Memory, template: object): T {
  const left = figures(memory, countFigures(template)).values();
  return named(template, left) as T;
}

/** The array through which pointers are passed. @internal */
export function passedPointers(memory: WebAssembly.Memory): Uint32Array {
  const address = glue.pointers_address();
  return new Uint32Array(here(memory, address + PIECE * 4), address, PIECE);
}

function figures(memory: WebAssembly.Memory, count: number): Float64Array {
  const address = glue.figures_address();
  return new Float64Array(here(memory, address + count * 8), address, count);
}

function here(memory: WebAssembly.Memory, end: number): ArrayBufferLike {
  // This agent's own part of the memory: it is there.
  return covering(memory, end)!;
}

function countFigures(template: unknown): number {
  return typeof template === 'object' && template !== null
    ? Object.values(template).reduce((sum: number, part) => sum + countFigures(part), 0)
    : 1;
}

function named(template: unknown, left: Iterator<number>): unknown {
  if (Array.isArray(template)) {
    return template.map((part) => named(part, left));
  }
  if (typeof template === 'object' && template !== null) {
    return Object.fromEntries(
      Object.entries(template).map(([name, part]) => [name, named(part, left)]),
    );
  }
  const figure: number = left.next().value;
  if (typeof template === 'boolean') {
    return figure !== 0;
  }
  return Number.isNaN(figure) ? undefined : figure;
}
