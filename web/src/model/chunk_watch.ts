/**
 * Watches the chunks from one snapshot to the next and knows which of them must be drawn again.
 *
 * Two snapshots take turns: the package fills the older one, and a chunk whose two maps differ is
 * marked. `nextChanged` hands the marked chunks out in a circle, so that a painter who stops when
 * its share of a frame is used up goes on where it stopped, and no chunk starves.
 */
import type { ChunkSnapshot, Snapshot } from 'warena';
import { Census } from './census.ts';

/** A chunk as the page knows it. */
export interface WatchedChunk {
  readonly index: number;
  /** First byte of the chunk in the memory. */
  address: number;
  /** The map of the newest snapshot. */
  map: Uint8Array;
  /** Whether `map` is newer than the picture and the census. */
  changed: boolean;
  /** Pictures drawn of this chunk so far. */
  pictures: number;
  readonly census: Census;
}

/** Whether two maps of the same length hold the same bytes, compared four at a time. */
export function sameMap(left: Uint8Array, right: Uint8Array): boolean {
  const a = new Int32Array(left.buffer, left.byteOffset, left.length >> 2);
  const b = new Int32Array(right.buffer, right.byteOffset, right.length >> 2);
  for (let word = 0; word < a.length; word += 1) {
    if (a[word] !== b[word]) {
      return false;
    }
  }
  return true;
}

/** The chunks of one arena, their newest maps, and which of them need a new picture. */
export class ChunkWatch {
  readonly chunks: WatchedChunk[] = [];
  #newest: Snapshot | undefined;
  #older: Snapshot | undefined;
  #cursor = 0;

  /** The newest snapshot, if one was taken. */
  get snapshot(): Snapshot | undefined {
    return this.#newest;
  }

  /** Takes a snapshot through `take`, which may reuse the one it is given, and marks what changed. */
  sample(take: (into?: Snapshot) => Snapshot): Snapshot {
    const previous = this.#newest;
    const snapshot = take(this.#older);
    this.#older = previous;
    this.#newest = snapshot;
    this.chunks.length = Math.min(this.chunks.length, snapshot.chunks.length);
    snapshot.chunks.forEach((chunk, index) => this.#watch(index, chunk));
    return snapshot;
  }

  #watch(index: number, chunk: ChunkSnapshot): void {
    const known = this.chunks[index];
    if (known === undefined || known.address !== chunk.address) {
      this.chunks[index] = {
        index,
        address: chunk.address,
        map: chunk.map,
        changed: true,
        pictures: known?.pictures ?? 0,
        census: new Census(),
      };
      return;
    }
    known.changed ||= !sameMap(known.map, chunk.map);
    known.map = chunk.map;
  }

  /** The next chunk that must be drawn again, its mark taken off and its census counted. */
  nextChanged(): WatchedChunk | undefined {
    for (let step = 0; step < this.chunks.length; step += 1) {
      const chunk = this.chunks[(this.#cursor + step) % this.chunks.length]!;
      if (chunk.changed) {
        this.#cursor = (chunk.index + 1) % this.chunks.length;
        chunk.changed = false;
        chunk.pictures += 1;
        chunk.census.count(chunk.map);
        return chunk;
      }
    }
    return undefined;
  }

  /** Marks every chunk, because the colours changed. */
  markAll(): void {
    for (const chunk of this.chunks) {
      chunk.changed = true;
    }
  }

  /** Forgets the arena that was watched. */
  clear(): void {
    this.chunks.length = 0;
    this.#newest = undefined;
    this.#older = undefined;
    this.#cursor = 0;
  }
}
