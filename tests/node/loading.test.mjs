/** Importing and ending: from anywhere, without side effects, and errors at once where it cannot work. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runScript } from './agents.mjs';

const use = `
  const { Arena } = await import('warena');
  const arena = await Arena.create({ maximumBytes: 4 << 20 });
  const pointer = arena.alloc(100);
  arena.u8(pointer, 100).fill(1);
  arena.free(pointer);
  console.log('allocated', arena.verify().allocatedObjects);
`;

test('a script that uses an arena ends by itself (38)', async () => {
  const { output, code, milliseconds } = await runScript(use);
  assert.equal(output.trim(), 'allocated 0');
  assert.equal(code, 0);
  assert.ok(milliseconds < 2000, `${milliseconds} ms`);
});

test('so does one with workers that were never told to end (38)', async () => {
  const { output, code } = await runScript(`
    import { Worker } from 'node:worker_threads';
    import { Arena } from 'warena';
    const arena = await Arena.create({ maximumBytes: 16 << 20 });
    const job = \`
      import { workerData } from 'node:worker_threads';
      import { Arena } from 'warena';
      const arena = await Arena.attach(workerData);
      arena.free(arena.alloc(10));
    \`;
    const worker = new Worker(job, { eval: true, workerData: arena.handle() });
    worker.on('exit', (code) => console.log('exit', code, arena.verify().allocatedObjects));
  `);
  assert.equal(output.trim(), 'exit 0 0');
  assert.equal(code, 0);
});

test('it loads from a path with blanks and from any working folder (38)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'a path with blanks '));
  try {
    const installed = dirname(dirname(fileURLToPath(import.meta.resolve('warena'))));
    cpSync(installed, join(folder, 'node_modules/warena'), { recursive: true });
    const { output, code } = await runScript(use, { cwd: folder });
    assert.equal(output.trim(), 'allocated 0');
    assert.equal(code, 0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('importing does nothing and needs nothing (39)', async () => {
  const { output, code } = await runScript(`
    const made = [];
    const { Memory } = WebAssembly;
    WebAssembly.Memory = class { constructor() { made.push('memory') } };
    for (const name of ['Worker', 'SharedArrayBuffer', 'document', 'window', 'self', 'navigator', 'fetch', 'crypto']) {
      delete globalThis[name];
    }
    const before = Object.getOwnPropertyNames(globalThis).sort().join();
    const { Arena } = await import('warena');
    const after = Object.getOwnPropertyNames(globalThis).sort().join();
    console.log(made.length, before === after, await Arena.create().catch(({ code }) => code));
  `);
  assert.equal(output.trim(), '0 true NotIsolated');
  assert.equal(code, 0);
});

test('a page that is not isolated is told both headers at once (40)', async () => {
  for (const setUp of [
    'globalThis.crossOriginIsolated = false;',
    'delete globalThis.SharedArrayBuffer;',
  ]) {
    const { output } = await runScript(`
      ${setUp}
      const { Arena } = await import('warena');
      await Arena.create().catch((error) => console.log(error.code, error.message));
    `);
    assert.match(output, /^NotIsolated Arena\.create: this page is not cross-origin isolated/);
    assert.match(output, /Cross-Origin-Opener-Policy: same-origin\n/);
    assert.match(output, /Cross-Origin-Embedder-Policy: require-corp\n/);
    assert.match(output, /https or from localhost; in Vite by server\.headers/);
  }
});

test('an engine that cannot compile or reserve says so', async () => {
  const { output } = await runScript(`
    const { Arena } = await import('warena');
    const { compile, Memory } = WebAssembly;
    WebAssembly.compile = () => Promise.reject(new WebAssembly.CompileError('refused by policy'));
    await Arena.create().catch(({ code, message, cause }) => console.log(code, message, cause.constructor.name));
    WebAssembly.compile = compile;
    WebAssembly.Memory = class { constructor() { throw new RangeError('could not allocate memory') } };
    await Arena.create({ maximumBytes: 2 ** 32 }).catch(({ code, message, bytes }) => console.log(code, message, bytes));
    WebAssembly.Memory = Memory;
    console.log((await Arena.create({ maximumBytes: 4 << 20 })).slot);
  `);
  const [first, second, third] = output.trim().split('\n');
  assert.match(
    first,
    /^CannotLoad .*refused by policy.*'wasm-unsafe-eval' in script-src.* CompileError$/,
  );
  assert.match(
    second,
    /^OutOfMemory .*cannot reserve a memory of 0x100000000 bytes .*smaller maximumBytes.* 4294967296$/,
  );
  assert.equal(third, '0', 'and the next try works');
});

test('it is ESM: require says so, or loads it', async () => {
  const { output } = await runScript(`
    import { createRequire } from 'node:module';
    try {
      console.log(typeof createRequire(process.cwd() + '/')('warena').Arena);
    } catch (error) {
      console.log(error.code);
    }
  `);
  assert.match(output.trim(), /^(function|ERR_REQUIRE_ESM)$/);
});

test('the module is shipped as a file too', async () => {
  const file = fileURLToPath(import.meta.resolve('warena/warena.wasm'));
  const module = await WebAssembly.compile(readFileSync(file));
  assert.ok(WebAssembly.Module.exports(module).some(({ name }) => name === 'alloc'));
  assert.ok(statSync(file).size < 170_000, `${statSync(file).size} bytes`);
});
