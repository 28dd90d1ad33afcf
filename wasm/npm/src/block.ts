/**
 * Blocks: the sizes that everything is made of, and the byte that a chunk's block map holds for
 * each unit. All numbers come from the module.
 */
import { FACTS } from './generated/facts.js';

/** Bytes of a unit, the smallest block. */
export const UNIT_BYTES = FACTS.layout.unitBytes;
/** Bytes of a chunk. */
export const CHUNK_BYTES = FACTS.layout.chunkBytes;
/** Units of a chunk: bytes of its block map. */
export const UNITS_PER_CHUNK = CHUNK_BYTES / UNIT_BYTES;

const { InTransfer, ...states } = FACTS.blockStates;
/**
 * What a block is: the state in a byte of a block map. Two of them are free: `Free`, and `Zeroed`
 * for what nobody has had since the memory grew, and which is known to be zero.
 */
export const BlockState = { ...states, Transfer: InTransfer } as const;
/** A value of {@link BlockState}. */
export type BlockStateNumber = (typeof BlockState)[keyof typeof BlockState];

/** The state that a byte of a block map names: `BlockState.Interior` where no block starts. */
export function blockState(mapByte: number): BlockStateNumber {
  return (mapByte >> FACTS.blockStateShift) as BlockStateNumber;
}

/**
 * The order of the block that starts at a byte of a block map: it has 16 << order bytes, or five or
 * six eighths of that.
 */
export function blockOrder(mapByte: number): number {
  return FACTS.blockOrders[extentCode(mapByte)] ?? 0;
}

/** Units that the block covers which starts at a byte of a block map; 1 for a byte that no block has. */
export function blockUnits(mapByte: number): number {
  return FACTS.blockUnits[extentCode(mapByte)] ?? 1;
}

function extentCode(mapByte: number): number {
  return mapByte & ((1 << FACTS.blockStateShift) - 1);
}
