/** Asserts that a call throws an ArenaError of a code whose message says what it should. */
import assert from 'node:assert/strict';
import { ArenaError } from 'warena';

function checkError(error, code, pattern, details) {
  assert.ok(
    error instanceof ArenaError && error instanceof Error,
    `not an ArenaError: ${error?.stack ?? error}`,
  );
  assert.equal(error.name, 'ArenaError');
  assert.equal(error.code, code, error.message);
  assert.match(error.message, pattern);
  assert.ok(error.message.endsWith(`[${code}]`), error.message);
  for (const [name, value] of Object.entries(details)) {
    assert.equal(error[name], value, name);
  }
  return true;
}

export function throwsArenaError(call, code, pattern, details = {}) {
  assert.throws(call, (error) => checkError(error, code, pattern, details));
}

export function rejectsArenaError(promise, code, pattern, details = {}) {
  return assert.rejects(promise, (error) => checkError(error, code, pattern, details));
}
