/**
 * One holds the heap's lock and stands still; two wait for it. One of these is killed, and the holder
 * is killed too or lets go: the wake may go to the dead one, and the other must get on all the same.
 */
import { now, pause, summary, until } from './clock.mjs';

/** Milliseconds until those that want the lock have fallen asleep. */
const TO_SLEEP = 10;

export async function killWaiting(theatre, kills) {
  const { crew, stage, rng } = theatre;
  const times = [];
  let waited = 0;
  while (times.length < kills) {
    const waiters = [0, 1].map(() => crew.play('play', {}, { pauses: true }));
    await Promise.all(waiters.map((member) => theatre.ready(member)));
    const holder = await theatre.hold();
    waiters.forEach(({ control }) => control.wake());
    await pause(TO_SLEEP);
    if (waiters.some(({ agent }) => agent.said('through'))) {
      throw new Error('one that waits for the lock has it');
    }
    const [victim, witness] = rng.once(2) ? waiters : waiters.reverse();
    const letGo = rng.pick([
      () => stage.goOn(),
      () => holder.agent.terminate(),
      () => holder.agent.terminate(),
    ]);
    const order = rng.pick(['victim first', 'holder first', 'holder later']);
    if (order === 'holder first') {
      letGo();
    }
    victim.agent.terminate();
    if (order === 'holder later') {
      await victim.agent.known;
    }
    if (order !== 'holder first') {
      letGo();
    }
    const known = await victim.agent.known;
    await until(() => 'the other one gets the lock', () => witness.agent.said('through'));
    times.push(now() - known);
    waited += witness.agent.figure('waits') > 0 ? 1 : 0;
    await theatre.finish(witness);
    await theatre.kill(holder);
    crew.bury(victim, false);
    await crew.prove();
  }
  theatre.count(kills);
  return `${kills}, ${waited} with a witness that had slept; it went on after: ${summary(times)}`;
}
