/**
 * Views of a shared memory that grows.
 *
 * Growth does not detach a shared buffer: an old one stays valid and short, and `memory.buffer`
 * itself may lag behind what another agent grew. So the only right question is whether a buffer
 * covers the bytes that are wanted, and growing by nothing is how an agent asks for a current one.
 */

/** A buffer that covers the bytes below `end`, or undefined when the memory does not. @internal */
export function covering(memory: WebAssembly.Memory, end: number): ArrayBufferLike | undefined {
  if (memory.buffer.byteLength < end) {
    memory.grow(0);
  }
  return memory.buffer.byteLength < end ? undefined : memory.buffer;
}
