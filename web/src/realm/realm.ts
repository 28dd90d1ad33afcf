/**
 * The script of a realm: an invisible frame that holds the page's own attachment to one arena.
 *
 * The package keeps one memory for each JavaScript realm, and a memory's maximum is fixed when it
 * is made. The page wants a new memory at each reset, so it gives every arena a realm of its own,
 * and throws the realm away with the arena. The frame hands the package's `Arena` to the page in an
 * event on its own element.
 */
import { Arena } from 'warena';
import { REALM_READY, type RealmReady } from './realm_ready.ts';

const ready: RealmReady = new CustomEvent(REALM_READY, { detail: Arena });
window.frameElement?.dispatchEvent(ready);
