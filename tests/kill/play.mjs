/** Workers that play a scene, of the test build: each stands still before a chosen write of its act. */
import { pause } from './clock.mjs';
import { countWrites, dieAt, waits } from './mortal.mjs';
import { Hands } from './hands.mjs';
import { HOLDER, SCENES } from './scenes.mjs';
import { Control, Ledger } from './words.mjs';

function take({ handle, words }) {
  const control = new Control(words);
  return { control, hands: new Hands({ ledger: new Ledger(words), control, handle }) };
}

/** Plays a scene up to a write; without a number, to its end, and says how many writes there were. */
export async function play(host, options) {
  const { control, hands } = take(options);
  const { before, act } = SCENES[options.scene] ?? HOLDER;
  await hands.attach();
  await before(hands);
  control.rest();
  if (options.write === undefined) {
    host.post({ writes: await countWrites(() => act(hands)), waits: waits() });
  } else {
    dieAt(options.write);
    await act(hands);
    dieAt(undefined);
  }
  host.post('through');
  hands.freeAll();
  hands.leave();
  host.post('done');
}

/**
 * Has a worker of its own die with the heap's lock in its hands, and stands still before a write of
 * reaping it.
 */
export async function inherit(host, { heldAt, child, ...options }) {
  const { control, hands } = take(options);
  await hands.attach();
  const reaped = new Promise((resolve) => hands.arena.on('reap', resolve));
  const holder = host.start('play', { handle: options.handle, words: child, write: heldAt });
  await holder.online;
  host.post('started');
  // Whoever runs this one sees the holder stand still, and has it go on then.
  while (control.get('pause') !== 0) {
    await pause(1);
  }
  const act = async () => {
    holder.terminate();
    await reaped;
  };
  if (options.write === undefined) {
    host.post({ writes: await countWrites(act) });
  } else {
    dieAt(options.write);
    await act();
    dieAt(undefined);
  }
  host.post('through');
  hands.leave();
  host.post('done');
}

/** Attaches, and detaches when it is woken: it stands still while it starts or ends. */
export async function comeAndGo(host, options) {
  const { control, hands } = take(options);
  await hands.attach();
  host.post('there');
  control.rest();
  hands.leave();
  host.post('done');
}
