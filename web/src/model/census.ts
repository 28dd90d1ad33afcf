/**
 * A census of a chunk: how many blocks of each order are in each state, and their bytes. Its bytes add up to the
 * chunk, whatever moment the map was sampled at. Huge blocks, which have no map, are added to it.
 */
import { BlockState, CHUNK_BYTES, UNIT_BYTES, type HugeSnapshot } from 'warena';
import { STATES, forEachBlock } from './block_map.ts';
import { LARGEST_ORDER } from './order.ts';

const ORDERS = LARGEST_ORDER + 1;

/** Blocks by state and order. */
export class Census {
  readonly #blocks = new Uint32Array(STATES * ORDERS);
  readonly #units = new Uint32Array(STATES * ORDERS);

  /** Replaces the figures by those of `map`. */
  count(map: Uint8Array): void {
    const blocks = this.#blocks;
    const all = this.#units;
    blocks.fill(0);
    all.fill(0);
    forEachBlock(map, (_unit, order, state, units) => {
      blocks[state * ORDERS + order]! += 1;
      all[state * ORDERS + order]! += units;
    });
  }

  /** Blocks of `order` in `state`. */
  blocks(state: number, order: number): number {
    return this.#blocks[state * ORDERS + order]!;
  }

  /** Bytes of the blocks of `order` in `state`. */
  bytesOf(state: number, order: number): number {
    return this.#units[state * ORDERS + order]! * UNIT_BYTES;
  }

  /** Bytes of all blocks in `state`. */
  bytes(state: number): number {
    let bytes = 0;
    for (let order = 0; order < ORDERS; order += 1) {
      bytes += this.bytesOf(state, order);
    }
    return bytes;
  }
}

/** The state of a huge block. */
export function hugeState({ deferred }: HugeSnapshot): number {
  return deferred ? BlockState.Deferred : BlockState.Allocated;
}

/** Bytes in each state over many chunks and huge blocks, indexed by state. */
export function bytesByState(
  censuses: readonly Census[],
  huge: readonly HugeSnapshot[],
): number[] {
  const bytes = Array.from({ length: STATES }, (_, state) =>
    censuses.reduce((sum, census) => sum + census.bytes(state), 0),
  );
  for (const run of huge) {
    bytes[hugeState(run)]! += run.chunks * CHUNK_BYTES;
  }
  return bytes;
}
