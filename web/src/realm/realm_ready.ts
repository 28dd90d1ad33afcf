/** The event by which a realm hands its own `Arena` class to the page. */
import type { Arena } from 'warena';

export const REALM_READY = 'realm-ready';

export type RealmReady = CustomEvent<typeof Arena>;
