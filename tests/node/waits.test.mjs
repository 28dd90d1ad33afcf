/**
 * Where the shipped module waits. A page's main thread must execute no `memory.atomic.wait32`, whatever
 * it calls; so the places that have one are known, and each has its guard:
 *
 * | place | guard |
 * | --- | --- |
 * | the allocator's lock | the patience that each call has from its context |
 * | a program's heap, for a standing seat | the same |
 * | wasm-bindgen's start and end of an agent | agents take turns, so nobody finds its lock taken |
 * | std's lock of the panic hook | taken for writing only in a memory's first start, before others |
 *
 * That none is executed is seen where it would be a trap: in Chromium, by main_thread.test.mjs.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const folder = mkdtempSync(join(tmpdir(), 'warena-waits-'));
after(() => rmSync(folder, { recursive: true }));

/** The functions of the module, by the names that the disassembler gives them. */
function disassemble() {
  const disassembler = join(process.env.WARENA_ROOT, 'web/node_modules/binaryen/bin/wasm-dis');
  const text = join(folder, 'module.wat');
  const binary = fileURLToPath(import.meta.resolve('warena/warena.wasm'));
  execFileSync(process.execPath, [disassembler, binary, '-o', text]);
  const module = readFileSync(text, 'utf8');
  const exported = new Map(
    [...module.matchAll(/^ \(export "([^"]+)" \(func (\$\S+)\)\)/gm)].map(([, name, it]) => [name, it]),
  );
  const functions = new Map();
  for (const part of module.split(/^ (?=\(func )/m).slice(1)) {
    const name = part.match(/^\(func (\$\S+)/)[1];
    const calls = [...part.matchAll(/\(call (\$\S+)/g)].map(([, called]) => called);
    const waits = [...part.matchAll(/memory\.atomic\.wait\S*[^(]*\((i32\.const|local)/g)];
    // std's locks are words of static memory, and the allocator's are found by their address.
    functions.set(name, { waits: waits.map(([, where]) => where === 'i32.const'), calls });
  }
  return { exported, functions };
}

/** All that a function may call directly, itself among them. */
function reached(functions, from) {
  const seen = new Set([from]);
  for (const name of seen) {
    functions.get(name)?.calls.forEach((called) => seen.add(called));
  }
  return seen;
}

test('the module waits in the places that are known, and nowhere else (32)', () => {
  const { exported, functions } = disassemble();
  assert.ok(functions.size > 50 && exported.size > 30, 'the module was understood');
  const waiting = [...functions].filter(([, { waits }]) => waits.length > 0).map(([name]) => name);
  const starting = ['__wbindgen_start', '__wbindgen_thread_destroy'].map((name) => exported.get(name));
  const isStatic = (name) => functions.get(name).waits.every((is) => is);
  const others = waiting.filter((name) => !starting.includes(name));
  const ofHook = others.filter(isStatic);
  const ours = others.filter((name) => !isStatic(name));
  for (const [name, { calls }] of functions) {
    assert.ok(!calls.some((called) => starting.includes(called)), `${name} calls a start`);
  }
  // The hook is set by the start alone.
  assert.ok(ofHook.length <= 2, `${ofHook} wait`);
  // Ours: the lock, which every call may come to, and the seats of a program's heap.
  assert.equal(ours.length, 2, `${ours} wait`);
  assert.ok(ours.every((name) => functions.get(name).waits.length === 1));
  const lock = ours.filter((name) => reached(functions, exported.get('flush')).has(name));
  assert.equal(lock.length, 1, 'flush takes the lock, or this test looks at nothing');
});
