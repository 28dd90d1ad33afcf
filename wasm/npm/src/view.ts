/**
 * Views of a shared memory that grows.
 *
 * Growth does not detach a shared buffer: an old one stays valid and short, and `memory.buffer`
 * itself may lag behind what another agent grew. So the only right question is whether a buffer
 * covers the bytes that are wanted, and growing by nothing is how an agent asks for a current one.
 */

/**
 * Makes `memory.buffer` cover all that other agents have grown. For calls in which the glue reads
 * or writes the memory through it.
 *
 * @internal
 */
export function refresh(memory: WebAssembly.Memory): void {
  memory.grow(0);
}

/** A buffer that covers the bytes below `end`, or undefined when the memory does not. @internal */
export function covering(memory: WebAssembly.Memory, end: number): ArrayBufferLike | undefined {
  if (memory.buffer.byteLength < end) {
    refresh(memory);
  }
  return memory.buffer.byteLength < end ? undefined : memory.buffer;
}
