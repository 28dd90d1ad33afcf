/**
 * C's names for the arena that serves this agent (c.rs): exports of the module that take no seat, for
 * other modules to import.
 */
import * as glue from './glue/warena_wasm.js';

/** What a module on the same memory imports. Addresses and sizes are bytes, of 32 bits. */
export interface CNames extends WebAssembly.ModuleImports {
  malloc(size: number): number;
  calloc(count: number, size: number): number;
  aligned_alloc(alignment: number, size: number): number;
  realloc(pointer: number, size: number): number;
  free(pointer: number): void;
  malloc_usable_size(pointer: number): number;
}

/** The names, of this realm's instance. @internal */
export function cNames(): CNames {
  // The glue has its instance by now, and only hands it out.
  const { malloc, calloc, aligned_alloc, realloc, free, malloc_usable_size } = glue.initSync(
    {} as glue.SyncInitInput,
  ) as unknown as CNames;
  return { malloc, calloc, aligned_alloc, realloc, free, malloc_usable_size };
}
