/**
 * The account of an arena's objects, at a moment when nobody runs: all that it holds as allocated,
 * against what the workers say they hold and what those that were killed have left.
 */

export interface Account<Listed> {
  /** Objects that somebody holds or has left, and that are not there, or that two claim. */
  missing: number;
  /** Objects that nobody knows of. */
  unknown: Listed[];
}

/** Compares the objects that are `allocated` with those that are `known`. */
export function settle<Listed extends { pointer: number }>(
  allocated: Iterable<Listed>,
  known: Iterable<{ pointer: number }>,
): Account<Listed> {
  const rest = new Map<number, Listed>();
  for (const object of allocated) {
    rest.set(object.pointer, object);
  }
  let missing = 0;
  for (const { pointer } of known) {
    missing += rest.delete(pointer) ? 0 : 1;
  }
  return { missing, unknown: [...rest.values()] };
}
