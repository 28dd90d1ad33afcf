// A module as a C compiler would make one that allocates: it imports a memory, `malloc` and `free`. It is
// written down byte by byte, so that nothing but an engine is needed to have it.

const I32 = 0x7f;
const VOID = 0x40;
const [BLOCK, LOOP, IF, END, BR, BR_IF, RETURN, CALL] = [2, 3, 4, 0x0b, 0x0c, 0x0d, 0x0f, 0x10];
const [GET, SET, TEE] = [0x20, 0x21, 0x22];
const [LOAD, STORE, CONST] = [0x28, 0x36, 0x41];
const [EQZ, NE, GE, ADD, SUB, SHL] = [0x45, 0x47, 0x4e, 0x6a, 0x6b, 0x74];
/** Alignment and offset of a word's access. */
const WORD = [2, 0];

const unsigned = (value) => (value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)]);
const vector = (items) => [...unsigned(items.length), ...items.flat()];
const text = (string) => vector([...new TextEncoder().encode(string)]);
const section = (id, content) => [id, ...unsigned(content.length), ...content];
const signature = (parameters, results) => [0x60, ...vector(parameters), ...vector(results)];

const [MALLOC, FREE] = [0, 1];
const [CYCLES, ALLOCS, SIZE, ARRAY, INDEX, POINTER, SLOT] = [0, 1, 2, 3, 4, 5, 6];
/** `slot = array + 4 * index` */
const slot = [GET, ARRAY, GET, INDEX, CONST, 2, SHL, ADD, SET, SLOT];
const fail = [IF, VOID, GET, CYCLES, RETURN, END];

/**
 * `cycles(count, allocs, size, array)`: so often allocates so many objects of that size, stamps each
 * and keeps it in the array of words there, and then checks and frees them, the last one first. Answers
 * with the cycles that were not done: 0, unless there was no memory or a stamp was gone.
 */
const CYCLES_BODY = [
  ...vector([[3, I32]]),
  ...[LOOP, VOID],
  ...[CONST, 0, SET, INDEX],
  ...[BLOCK, VOID, LOOP, VOID, GET, INDEX, GET, ALLOCS, GE, BR_IF, 1],
  ...[GET, SIZE, CALL, MALLOC, TEE, POINTER, EQZ, ...fail],
  ...[GET, POINTER, GET, POINTER, STORE, ...WORD],
  ...[...slot, GET, SLOT, GET, POINTER, STORE, ...WORD],
  ...[GET, INDEX, CONST, 1, ADD, SET, INDEX, BR, 0, END, END],
  ...[BLOCK, VOID, LOOP, VOID, GET, INDEX, EQZ, BR_IF, 1],
  ...[GET, INDEX, CONST, 1, SUB, SET, INDEX],
  ...[...slot, GET, SLOT, LOAD, ...WORD, TEE, POINTER, LOAD, ...WORD, GET, POINTER, NE, ...fail],
  ...[GET, POINTER, CALL, FREE, BR, 0, END, END],
  ...[GET, CYCLES, CONST, 1, SUB, TEE, CYCLES, BR_IF, 0, END],
  ...[CONST, 0, END],
];

const BYTES = new Uint8Array([
  ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...section(
    1,
    vector([signature([I32], [I32]), signature([I32], []), signature([I32, I32, I32, I32], [I32])]),
  ),
  ...section(
    2,
    vector([
      // Shared, of at most 4 GiB.
      [...text('env'), ...text('memory'), 2, 3, ...unsigned(1), ...unsigned(65_536)],
      [...text('env'), ...text('malloc'), 0, MALLOC],
      [...text('env'), ...text('free'), 0, FREE],
    ]),
  ),
  ...section(3, vector([2])),
  ...section(7, vector([[...text('cycles'), 0, 2]])),
  ...section(10, vector([vector(CYCLES_BODY)])),
]);

/** The module on `memory`, with these C names: its function `cycles`. */
export function importer(memory, names) {
  const module = new WebAssembly.Module(BYTES);
  return new WebAssembly.Instance(module, { env: { memory, ...names } }).exports.cycles;
}
