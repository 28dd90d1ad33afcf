/**
 * Handles: what one agent posts to another so that it attaches to the same arena.
 *
 * A handle is plain data that any structured clone keeps. It may come from anywhere: another
 * version of the package, a mistyped message, a memory that has no arena. So all of it is looked
 * at before the first byte of that memory is touched.
 */
import { isUnsigned } from './argument.js';
import { ArenaError, shown } from './error.js';
import { BUILD, FACTS, VERSION } from './generated/facts.js';
import { covering } from './view.js';

/** What `Arena.attach` takes. Post it as it is; nothing in it is to be used otherwise. */
export interface ArenaHandle {
  /** Always "warena". */
  readonly kind: 'warena';
  /** The version of the package that made it. */
  readonly version: string;
  /** Which build of the module is at work in that memory: all agents need the very same. */
  readonly build: string;
  /** The shared memory. */
  readonly memory: WebAssembly.Memory;
  /** The most bytes that it may grow to. */
  readonly maximumBytes: number;
  /** The address of the arena's header. */
  readonly address: number;
  /** The compiled module; an agent without it compiles its own copy. */
  readonly module?: WebAssembly.Module;
}

/** @internal */
export function makeHandle(
  memory: WebAssembly.Memory,
  maximumBytes: number,
  address: number,
  module: WebAssembly.Module,
): ArenaHandle {
  return { kind: 'warena', version: VERSION, build: BUILD, memory, maximumBytes, address, module };
}

function invalid(message: string, pointer?: number): ArenaError {
  return new ArenaError(
    'InvalidHandle',
    `Arena.attach: ${message}; post what arena.handle() returns, as it is`,
    pointer === undefined ? {} : { pointer },
  );
}

/** The class of a value, whichever realm it comes from: instanceof knows only this one's. */
function classOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice('[object '.length, -1);
}

/** Refuses anything but the handle of a live arena that this build can use. @internal */
export function checkHandle(handle: unknown): asserts handle is ArenaHandle {
  if (typeof handle !== 'object' || handle === null) {
    throw invalid(`the handle is ${shown(handle)}`);
  }
  const { kind, version, build, memory, maximumBytes, address, module } = handle as Record<
    keyof ArenaHandle,
    unknown
  >;
  if (kind !== 'warena') {
    throw invalid('this is no handle (an Arena that was posted itself arrives as an empty object)');
  }
  if (version !== VERSION || build !== BUILD) {
    throw new ArenaError(
      'VersionMismatch',
      `Arena.attach: the handle is of warena ${String(version)} (build ${String(build)}) and this is ` +
        `${VERSION} (build ${BUILD}); load the same version of the package in every agent`,
    );
  }
  if (classOf(memory) !== 'WebAssembly.Memory') {
    throw invalid(`its memory is ${shown(memory)}, not a WebAssembly.Memory`);
  }
  const shared = memory as WebAssembly.Memory;
  if (classOf(shared.buffer) !== 'SharedArrayBuffer') {
    throw invalid('its memory is not shared');
  }
  if (typeof maximumBytes !== 'number' || !(maximumBytes >= shared.buffer.byteLength)) {
    throw invalid(`its maximumBytes is ${shown(maximumBytes)}, less than the memory has`);
  }
  if (module !== undefined && classOf(module) !== 'WebAssembly.Module') {
    throw invalid(`its module is ${shown(module)}, not a WebAssembly.Module`);
  }
  if (!isUnsigned(address)) {
    throw invalid(`its address is ${shown(address)}, not an unsigned 32-bit integer`);
  }
  checkHeader(shared, address);
}

/** Reads, and only reads, whether an arena of this layout is at `address`. */
function checkHeader(memory: WebAssembly.Memory, address: number): void {
  const { layout } = FACTS;
  const offsets = [layout.headerMagic, layout.headerVersion, layout.headerAddress];
  const end = address + Math.max(...offsets) + 4;
  const buffer = address % 4 === 0 ? covering(memory, end) : undefined;
  if (buffer === undefined) {
    throw invalid(`there is no arena at ${shown(address)} of its memory`, address);
  }
  const [magic, version, own] = offsets.map((offset) =>
    Atomics.load(new Uint32Array(buffer, address + offset, 1), 0),
  ) as [number, number, number];
  if (magic !== layout.magic) {
    throw invalid(
      `there is no arena at ${shown(address)} of its memory, or none any more: its header says ` +
        `${shown(magic)} where one says ${shown(layout.magic)}`,
      address,
    );
  }
  if (own !== address || version === 0) {
    throw invalid(
      `there is no arena at ${shown(address)} of its memory yet: its header is half-written (it says ` +
        `that it is at ${shown(own)}, of layout version ${version})`,
      address,
    );
  }
  if (version !== layout.version) {
    throw new ArenaError(
      'VersionMismatch',
      `Arena.attach: the arena at ${shown(address)} has layout version ${version} and this is ` +
        `version ${layout.version}; load the same version of the package in every agent`,
      { pointer: address },
    );
  }
}
