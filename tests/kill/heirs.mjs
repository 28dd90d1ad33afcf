/**
 * One dies with the heap's lock in its hands, and whoever reaps it is killed in the midst of that:
 * both are reaped by the next.
 */
import { until } from './clock.mjs';
import { Crew } from './crew.mjs';
import { Outcome } from './chosen.mjs';

export async function killHeirs(theatre, kills) {
  const count = (await scene(theatre, undefined)).writes;
  const outcome = new Outcome(count);
  while (outcome.kills < kills) {
    await scene(theatre, theatre.rng.below(count), outcome);
  }
  theatre.count(kills);
  return outcome.toString();
}

async function scene(theatre, write, outcome) {
  const { crew, stage, heldAt, survivor } = theatre;
  const child = Crew.member();
  const before = stage.stalled;
  const heir = crew.play('inherit', { write, heldAt, child: child.words }, { pauses: true });
  await until(() => 'the holder stands still', () => !heir.agent.said('') && stage.stalled > before);
  const number = await crew.numberOf(heir);
  const seen = stage.stalled;
  heir.control.wake();
  const stood = await theatre.standsStill([heir], seen);
  if (stood) {
    theatre.callMeanwhile(outcome.kills % 10 === 0);
  }
  heir.agent.terminate();
  const known = await heir.agent.known;
  const epoch = crew.beginEpoch();
  const wentOn = await crew.wentOn([survivor], epoch);
  crew.bury(child, false);
  crew.bury(heir, false);
  const { orphans } = crew.counts;
  if (stood) {
    const report = await crew.reaped(number);
    await crew.prove();
    const inFlight = crew.counts.orphans - orphans;
    outcome.add(report, {
      reaped: report.at - known,
      wentOn: wentOn - known,
      orphans: inFlight,
    });
  } else {
    await crew.prove();
  }
  return { writes: heir.agent.figure('writes') };
}
