/**
 * Kills of workers that start or end, when they have neither a stack nor thread-local data of their
 * own: nobody else is kept from starting, and what they took comes back.
 */
import { now, summary, until } from './clock.mjs';

export const killStarting = (theatre, kills) => ({
  start: () => new Starts(theatre).kill(kills, 'start'),
  end: () => new Starts(theatre).kill(kills, 'end'),
});

class Starts {
  #theatre;

  constructor(theatre) {
    this.#theatre = theatre;
  }

  async kill(kills, when) {
    const { rng } = this.#theatre;
    const times = [];
    const writes = await this.#count(when);
    if (writes === 0) {
      throw new Error(`${when}: there is nothing to die of`);
    }
    while (times.length < kills) {
      const time = await this.#play(when, rng.below(writes));
      if (time !== undefined) {
        times.push(time);
      }
    }
    this.#theatre.count(kills);
    return `${kills} of ${writes}; the next one attached after: ${summary(times)}`;
  }

  async #count(when) {
    const { stage } = this.#theatre;
    const actor = await this.#upTo(when, () => stage.countStart());
    await this.#there(actor);
    const starting = when === 'start' ? stage.endStarts() : 0;
    actor.control.wake();
    await this.#theatre.finish(actor);
    return when === 'start' ? starting : stage.endStarts();
  }

  /** A worker that is about to start, or to end, once `prepare` was called. */
  async #upTo(when, prepare) {
    const { crew } = this.#theatre;
    if (when === 'start') {
      prepare();
      return crew.play('comeAndGo', {}, { pauses: true });
    }
    const actor = crew.play('comeAndGo', {}, { pauses: true });
    await this.#there(actor);
    prepare();
    actor.control.wake();
    return actor;
  }

  async #there(actor) {
    await until(() => 'a worker attaches', () => actor.agent.said('there'));
  }

  /** Kills one before that write; milliseconds until the next one is there, if it came to that. */
  async #play(when, write) {
    const { crew, stage } = this.#theatre;
    const seen = stage.stalled;
    const actor = await this.#upTo(when, () => stage.stallStart(write));
    const over = () => actor.agent.said(when === 'start' ? 'there' : 'done');
    await until(() => `one stands still in its ${when}`, () => stage.stalled > seen || over());
    const stood = stage.stalled > seen;
    stage.endStarts();
    actor.agent.terminate();
    const known = await actor.agent.known;
    const next = crew.play('comeAndGo', {}, { pauses: true });
    await this.#there(next);
    const time = now() - known;
    next.control.wake();
    await this.#theatre.finish(next);
    crew.bury(actor, false);
    await crew.prove();
    return stood ? time : undefined;
  }
}
