/**
 * Builds the npm package into a staging folder: `node wasm/npm/build.mjs <glue> <staging>`.
 *
 * `<glue>` is what `wasm-pack build --target web` wrote. The sources and the glue are put together
 * in `<staging>/src`, with two generated modules that say what only the build knows:
 *
 *   generated/facts.ts   layout, defaults and limits, asked of the module itself, and the
 *                        memory that it imports
 *   generated/binary.ts  the module's bytes in base64: one import then works in every bundler,
 *                        in Node and from any folder, with no file to find at run time
 *
 * `tsc` (on the PATH) compiles that to `<staging>/dist`, and then a file that uses the package
 * (types/usage.ts) against the types that came out.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

if (process.argv.length !== 4) {
  throw new Error('usage: node build.mjs <folder of the wasm-bindgen glue> <staging folder>');
}
const [glue, staging] = process.argv.slice(2).map((folder) => resolve(folder));
const here = fileURLToPath(new URL('.', import.meta.url));
const sources = join(staging, 'src');
const dist = join(staging, 'dist');

/** The memory that the glue would make: its `initial` is what the module's import asks for. */
function initialPages(text) {
  const found = text.match(
    /new WebAssembly\.Memory\(\{initial:(\d+),maximum:(\d+),shared:true\}\)/,
  );
  if (found === null || found[2] !== '65536') {
    throw new Error(
      `${glue}: the glue makes no shared memory of at most 65536 pages; was it built with .cargo/threads.toml?`,
    );
  }
  return Number(found[1]);
}

/** What the module says about itself. */
async function askModule(bytes, initial) {
  const { initSync, facts } = await import(
    pathToFileURL(join(sources, 'glue/warena_wasm.js')).href
  );
  // Room for a chunk of the module's own heap.
  const memory = new WebAssembly.Memory({ initial, maximum: initial + 48, shared: true });
  initSync({ module: new WebAssembly.Module(bytes), memory });
  return facts();
}

function writeModule(name, doc, constants) {
  // `as const` keeps each number in the types, where it documents itself; a string needs none.
  const lines = Object.entries(constants).map(([key, value]) =>
    typeof value === 'string'
      ? `export const ${key}: string = ${JSON.stringify(value)};`
      : `export const ${key} = ${JSON.stringify(value, null, 2)} as const;`,
  );
  writeFileSync(
    join(sources, 'generated', name),
    `/** ${doc} Written by build.mjs. */\n${lines.join('\n')}\n`,
  );
}

for (const folder of [sources, dist]) {
  rmSync(folder, { recursive: true, force: true });
}
for (const name of ['package.json', 'README.md', 'tsconfig.json', 'src']) {
  cpSync(join(here, name), join(staging, name), { recursive: true });
}
for (const name of ['LICENSE-MIT', 'LICENSE-APACHE']) {
  cpSync(join(here, '../..', name), join(staging, name));
}
for (const folder of [join(sources, 'glue'), join(sources, 'generated'), join(dist, 'glue')]) {
  mkdirSync(folder, { recursive: true });
}
for (const name of ['warena_wasm.js', 'warena_wasm.d.ts']) {
  cpSync(join(glue, name), join(sources, 'glue', name));
  cpSync(join(glue, name), join(dist, 'glue', name));
}
/**
 * The glue decodes the module's strings, which every refusal has some of, by TextDecoder. A worklet
 * has none, so there the glue gets the package's own.
 */
function giveTextDecoder(file) {
  const text = readFileSync(file, 'utf8');
  if (!text.includes("typeof TextDecoder !== 'undefined'")) {
    throw new Error(`${file}: the glue wants a TextDecoder when it is loaded, which a worklet has not`);
  }
  writeFileSync(file, `${text}\nimport { TextDecoder } from '../text_decoder.js';\n`);
}

const bytes = readFileSync(join(glue, 'warena_wasm_bg.wasm'));
cpSync(join(glue, 'warena_wasm_bg.wasm'), join(dist, 'warena.wasm'));

const initial = initialPages(readFileSync(join(glue, 'warena_wasm.js'), 'utf8'));
const facts = await askModule(bytes, initial);
// After that, since it asks the glue alone: the package's own sources are not compiled yet.
for (const folder of [sources, dist]) {
  giveTextDecoder(join(folder, 'glue/warena_wasm.js'));
}
const { version } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));
const build = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
writeModule('facts.ts', 'What the module of this build says about itself.', {
  VERSION: version,
  BUILD: build,
  INITIAL_PAGES: initial,
  FACTS: facts,
});
writeModule('binary.ts', 'The WebAssembly module of this build in base64.', {
  BINARY: bytes.toString('base64'),
});

const tsc = (...options) =>
  execFileSync('tsc', ['-p', staging, ...options], { stdio: 'inherit', cwd: staging });
tsc();
// The types as a user has them: the package is found by its own name and its exports.
rmSync(sources, { recursive: true });
cpSync(join(here, 'types/usage.ts'), join(sources, 'usage.ts'));
tsc('--noEmit', '--rootDir', '.');
rmSync(sources, { recursive: true });
rmSync(join(staging, 'tsconfig.json'));
