/** The objects that are allocated in an arena, read from its block maps. */
import { BlockState, CHUNK_BYTES, UNIT_BYTES, blockState, blockUnits } from './block.js';
import { readChunks, readHuge, readKinds, type ChunkSnapshot, type HugeSnapshot } from './snapshot.js';

/** An object that some agent allocated, and none has freed. */
export interface ArenaObject {
  /** Its address. */
  pointer: number;
  /** Bytes that it has: what was asked for, rounded up. */
  bytes: number;
}

/** Lists the objects of the arena at `header`, lowest first. @internal */
export function* listObjects(
  memory: WebAssembly.Memory,
  header: number,
): Generator<ArenaObject, void> {
  const kinds = readKinds(memory, header);
  const chunks: ChunkSnapshot[] = [];
  const huge: HugeSnapshot[] = [];
  readChunks(memory, kinds, chunks);
  readHuge(kinds, huge);
  const all = [...chunks, ...huge].sort((one, other) => one.address - other.address);
  for (const each of all) {
    if ('map' in each) {
      yield* objectsOfChunk(each);
    } else if (!each.deferred) {
      yield { pointer: each.address, bytes: each.chunks * CHUNK_BYTES };
    }
  }
}

function* objectsOfChunk({ address, map }: ChunkSnapshot): Generator<ArenaObject, void> {
  for (let unit = 0; unit < map.length;) {
    const byte = map[unit]!;
    const units = blockState(byte) === BlockState.Interior ? 1 : blockUnits(byte);
    if (blockState(byte) === BlockState.Allocated) {
      yield { pointer: address + unit * UNIT_BYTES, bytes: units * UNIT_BYTES };
    }
    unit += units;
  }
}
