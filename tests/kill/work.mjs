/** A worker under mixed load: one that is to survive, or one that is to be killed in its midst. */
import { Arena } from 'warena';
import { now } from './clock.mjs';
import { Load } from './load.mjs';
import { Rng } from './rng.mjs';
import { Control, Exchange, Ledger } from './words.mjs';

/** Steps between two looks at anything but the load. */
const TURN = 30;
/** One turn of so many gives all seats up and takes new ones. */
const TURNS_OF_A_SEAT = 12;

/**
 * Works until it is told to end, or ends. `yields`: whether its event loop turns meanwhile; browsers
 * end a worker at such a moment rather than in the middle of something. `nap`: milliseconds that it
 * sleeps each turn, so that more workers find room on few cores.
 */
export async function work(host, { handle, words, exchange, director, seed, yields, nap }) {
  const control = new Control(words);
  const epoch = new Control(director);
  const ledger = new Ledger(words);
  const rng = new Rng(seed);
  const mark = () => {
    if (control.get('quit') > 0) {
      control.add('quit', -1);
      if (control.get('quit') === 0) {
        host.exit();
      }
    }
  };
  const load = new Load({
    rng,
    ledger,
    exchange: new Exchange(exchange),
    mark,
    onRefused: () => control.add('refused', 1),
  });
  const sleeper = new Int32Array(new SharedArrayBuffer(4));

  const sit = async () => {
    const seats = [];
    for (let wanted = rng.once(4) ? 2 : 1; wanted > 0; wanted -= 1) {
      seats.push(await Arena.attach(handle));
      control.set('slot', seats[0].slot);
      control.set('seats', seats.length);
    }
    return seats;
  };
  const stand = (seats) => {
    while (seats.length > 0) {
      // Beforehand: whoever dies in the middle may have given it up.
      control.set('seats', seats.length - 1);
      seats.pop().detach();
    }
  };

  let seats = await sit();
  host.post('working');
  while (control.get('end') === 0) {
    for (let step = 0; step < TURN && control.get('end') === 0; step += 1) {
      control.rest();
      const began = now();
      const seen = epoch.get('epoch');
      load.step(rng.pick(seats));
      control.add('steps', 1);
      const done = now();
      control.setTime('longest', Math.max(control.getTime('longest'), done - began));
      if (control.get('epoch') !== seen) {
        control.setTime('wentOn', done);
        control.set('epoch', seen);
      }
    }
    if (nap > 0) {
      Atomics.wait(sleeper, 0, 0, nap);
    }
    if (yields) {
      await host.tick();
      if (rng.once(TURNS_OF_A_SEAT)) {
        stand(seats);
        mark();
        seats = await sit();
      }
    }
  }
  load.finish(seats[0]);
  stand(seats);
  host.post('done');
}
