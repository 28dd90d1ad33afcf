/**
 * The package in a fresh Vite app: served by the dev server, whose dependency optimiser rewrites
 * packages, and built; in the page and in its worker. The app is the example of the package's
 * README, with its output in the title.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { App, installed } from './app.mjs';

let app;
before(async () => {
  const readme = readFileSync(join(installed, 'README.md'), 'utf8');
  const examples = [...readme.matchAll(/^```js (\S+)\n(.*?)^```$/gms)].map(([, name, text]) => [
    name,
    text.replace(/console\.log\((.*)\);/, 'document.title = [$1].join(" ");'),
  ]);
  app = await App.make(Object.fromEntries(examples));
});
after(() => app?.close());

test('the dev server serves it (36)', async () => {
  assert.equal(await app.develop(), 'hello 0');
});

test('a build has it, in the page and in the worker (36)', async () => {
  assert.equal(await app.build(), 'hello 0');
});

test('without the headers it says which are missing (40)', async () => {
  await assert.rejects(
    app.build({ isolated: false }),
    /not cross-origin isolated.*Opener-Policy: same-origin.*Embedder-Policy: require-corp/s,
  );
});
