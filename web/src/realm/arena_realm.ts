/**
 * The page's side of a realm (see realm.ts): makes the frame, and an arena in it. All calls run in
 * the page's own thread; only the realm differs.
 */
import type { Arena, ArenaOptions } from 'warena';
import { REALM_READY, type RealmReady } from './realm_ready.ts';

/** An arena in a realm of its own. */
export interface ArenaRealm {
  arena: Arena;
  /** Lets go of the arena and of its memory. */
  close(): void;
}

function loadRealm(frame: HTMLIFrameElement): Promise<typeof Arena> {
  return new Promise((resolve, reject) => {
    frame.addEventListener(REALM_READY, (event) => resolve((event as RealmReady).detail));
    // The frame's load event follows the run of its scripts: by then the realm was ready or failed.
    frame.addEventListener('load', () =>
      reject(new Error(`the arena's frame ${frame.src} has not loaded the package`)),
    );
    document.body.append(frame);
  });
}

/** Makes a new memory with an arena in it, to which the page is attached. */
export async function openArena(options: ArenaOptions): Promise<ArenaRealm> {
  const frame = document.createElement('iframe');
  frame.src = new URL('realm.html', document.baseURI).href;
  frame.title = 'Arena realm';
  frame.hidden = true;
  try {
    const RealmArena = await loadRealm(frame);
    const arena = await RealmArena.create(options);
    return {
      arena,
      close: () => {
        arena.detach();
        frame.remove();
      },
    };
  } catch (error) {
    frame.remove();
    throw error;
  }
}
