/**
 * How large a chunk's square is shown: as large as lets all chunks fit the space that is there, so
 * that a heap of one chunk fills the stage and one of forty is seen whole.
 */

export const GAP = 12;
/** Height of the line of text below a square. */
const CAPTION = 22;

/** Below this side no block can be told from another; the page scrolls instead. */
const SMALLEST = 96;
/** A side that is a multiple of this shows every unit of a chunk at the same width. */
const SHARP = 128;
/** How much smaller a square may become for that. */
const SHARP_SHARE = 0.9;

/** The side of each of `chunks` squares, in CSS pixels, in a space of `width` × `height`. */
export function squareSide(chunks: number, width: number, height: number): number {
  let best = 0;
  for (let columns = 1; columns <= Math.max(1, chunks); columns += 1) {
    const rows = Math.ceil(chunks / columns);
    const wide = (width + GAP) / columns - GAP;
    const high = (height + GAP) / rows - GAP - CAPTION;
    best = Math.max(best, Math.min(wide, high));
  }
  const side = Math.max(Math.min(SMALLEST, width), Math.floor(best));
  const sharp = Math.floor(side / SHARP) * SHARP;
  return sharp >= side * SHARP_SHARE ? sharp : side;
}
