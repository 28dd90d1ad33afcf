/** The recorded programs that come with the page, and what is known of each. */
export const TRACES = {
  cc1: { title: 'cc1', program: 'a C compiler on one file, -O2', operations: 204_921, threads: 1 },
  sqlite: {
    title: 'SQLite',
    program: 'an in-memory SQL database: insert, index, update, group, vacuum',
    operations: 36_941,
    threads: 1,
  },
  python: {
    title: 'Python',
    program: 'JSON, regular expressions and dictionaries, every object through malloc',
    operations: 193_066,
    threads: 1,
  },
  'wasm-opt': {
    title: 'wasm-opt',
    program: 'a WebAssembly optimiser with four pool threads',
    operations: 252_828,
    threads: 5,
  },
} as const;

export type TraceName = keyof typeof TRACES;
