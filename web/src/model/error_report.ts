/** An error as plain data, so that it can cross from a worker to the page and into a panel. */
export interface ErrorReport {
  /** The class of the error, and the package's code where it has one. */
  title: string;
  message: string;
}

/** Describes whatever was thrown. */
export function reportError(thrown: unknown): ErrorReport {
  // An error may come from another realm (the arena's frame), where `instanceof Error` is false.
  if (typeof thrown !== 'object' || thrown === null || !('message' in thrown)) {
    return { title: 'Error', message: String(thrown) };
  }
  const { name, code, message } = thrown as { name?: string; code?: unknown; message: string };
  const title = [name ?? 'Error', typeof code === 'string' ? code : undefined];
  return { title: title.filter(Boolean).join(' · '), message };
}
