/** Every JavaScript example of the READMEs runs, and says what its comments say. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));

/** The fenced blocks of JavaScript: name (if the fence has one) and text. */
function examples(file) {
  const blocks = readFileSync(file, 'utf8').matchAll(/^```js ?(\S*)\n(.*?)^```$/gms);
  return [...blocks].map(([, name, text]) => ({ name, text }));
}

/** Runs a file in a fresh folder that holds all of these; what it printed. */
function run(files, main) {
  const folder = mkdtempSync(join(here, 'example-'));
  try {
    for (const { name, text } of files) {
      writeFileSync(join(folder, name), text);
    }
    const shim = new URL('./web_worker.mjs', import.meta.url).href;
    return execFileSync(process.execPath, ['--import', shim, main], {
      cwd: folder,
      encoding: 'utf8',
      timeout: 20_000,
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What a `console.log` line of an example promises in its comment. */
function promised(text) {
  return [...text.matchAll(/console\.log\(.*\/\/ (.*)$/gm)].map(([, output]) => output);
}

const packaged = fileURLToPath(new URL('../README.md', import.meta.resolve('warena')));
const files = { 'the package’s README': packaged };
if (process.env.WARENA_ROOT !== undefined) {
  files['the project’s README'] = join(process.env.WARENA_ROOT, 'README.md');
}
for (const [title, file] of Object.entries(files)) {
  const all = examples(file);
  const named = all.filter(({ name }) => name !== '');
  const alone = all
    .filter(({ name }) => name === '')
    .map(({ text }) => ({ name: 'main.js', text }));
  test(`${title} has examples`, () => assert.ok(all.length > 0));
  for (const set of [...alone.map((example) => [example]), ...(named.length > 0 ? [named] : [])]) {
    const { text } = set.find(({ name }) => name === 'main.js');
    test(`${title}: the example with ${JSON.stringify(text.trim().split('\n').at(-1))} runs`, () => {
      const output = run(set, 'main.js').trim().split('\n');
      assert.deepEqual(output.slice(0, promised(text).length), promised(text));
    });
  }
}
