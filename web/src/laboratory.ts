/**
 * The laboratory: one arena, the workers that run on it, and what may be done with them.
 *
 * Actions are carried out one after the other, in the order they were asked for. A run is started
 * by an action but not awaited in it, so that `stop` can follow. Every error ends up in the state,
 * where the page shows it.
 */
import type { Verification } from 'warena';
import {
  errorNotice,
  initialState,
  objectsHeld,
  type Notice,
  type Phase,
  type State,
} from './model/state.ts';
import { Meter } from './model/meter.ts';
import { bytesLabel } from './model/order.ts';
import { reportError, type ErrorReport } from './model/error_report.ts';
import { sameArena, sameWork, type Settings } from './model/settings.ts';
import { SamplePace } from './model/sample_pace.ts';
import { loadTrace } from './model/trace_file.ts';
import type { Trace } from './model/trace.ts';
import type { TraceName } from './model/trace_catalogue.ts';
import { divideWork } from './model/work.ts';
import { openArena, type ArenaRealm } from './realm/arena_realm.ts';
import { Crew, WorkerFailure, type NoteListener } from './workers/crew.ts';

export class Laboratory {
  readonly state: State = initialState();
  readonly #changed: () => void;
  readonly #traces = new Map<TraceName, Trace>();
  #realm: ArenaRealm | undefined;
  #crew: Crew | undefined;
  /** The settings that the arena was made with. */
  #arenaSettings: Settings | undefined;
  /** The settings that the crew's work was made from. */
  #workSettings: Settings | undefined;
  /** A worker failed, so what the arena holds is unknown: the next start makes a new one. */
  #spoiled = false;
  #run: Promise<void> | undefined;
  readonly #samplePace = new SamplePace();
  #actions: Promise<void> = Promise.resolve();

  /** `changed` is called whenever the state has changed. */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Makes the arena. */
  open(): Promise<void> {
    return this.#act(() => this.#renewArena());
  }

  /** Starts the workers; they run until they are stopped. */
  start(): Promise<void> {
    return this.#act(() => this.#startRun(Number.POSITIVE_INFINITY));
  }

  /** Lets every worker run one cycle. */
  step(): Promise<void> {
    return this.#act(() => this.#startRun(1));
  }

  /** Stops the workers. */
  stop(): Promise<void> {
    return this.#act(() => this.#stopRun());
  }

  /** Throws the arena away, with its memory, and makes a new one. */
  reset(): Promise<void> {
    return this.#act(async () => {
      await this.#stopRun();
      this.state.notices = [];
      await this.#renewArena();
    });
  }

  /** Stops the workers and lets the arena prove its invariants. */
  verify(): Promise<void> {
    return this.#act(async () => {
      await this.#stopRun();
      const arena = this.#realm?.arena;
      if (arena === undefined) {
        return;
      }
      this.#enter('verifying');
      try {
        this.#notify(this.#judge(arena.verify()));
      } finally {
        this.#enter('idle');
      }
    });
  }

  /** Changes the settings. A run goes on with the new ones; a new pace does not even interrupt it. */
  change(settings: Settings): Promise<void> {
    this.state.settings = settings;
    if (this.#crew !== undefined) {
      this.#crew.control.pace = settings.pace;
    }
    this.#changed();
    return this.#act(async () => {
      if (this.state.phase === 'running' && this.#isOutdated()) {
        await this.#stopRun();
        await this.#startRun(Number.POSITIVE_INFINITY);
      }
    });
  }

  /** Shows an error that happened outside of any action. */
  report(error: unknown): void {
    this.#notify(errorNotice(reportError(error)));
  }

  /** Reads what the workers and the arena show, without stopping anybody; to be called once a frame. */
  sample(): void {
    if (this.#realm !== undefined && this.#samplePace.isDue()) {
      const { arena } = this.#realm;
      const start = performance.now();
      this.state.snapshot = this.state.watch.sample((into) => arena.snapshot(into));
      this.#samplePace.took(performance.now() - start);
    }
    this.#readTallies();
  }

  #readTallies(): void {
    if (this.#crew !== undefined) {
      const { control } = this.#crew;
      this.state.workers.forEach((worker) => (worker.tally = control.tally(worker.number)));
    }
  }

  /** What a proof that found nothing wrong in the arena means, beside what the workers hold. */
  #judge({ blocks, chunks, hugeBlocks, ownedBytes, allocatedObjects }: Verification): Notice {
    this.#readTallies();
    const held = objectsHeld(this.state.workers);
    const count = (number: number) => number.toLocaleString('en');
    if (allocatedObjects !== held) {
      return {
        kind: 'error',
        title: 'Objects lost',
        message: `The arena is in order, but it holds ${count(allocatedObjects)} objects for the workers, who hold ${count(held)}.`,
      };
    }
    return {
      kind: 'good',
      title: 'Verified',
      message:
        `${count(blocks)} blocks in ${count(chunks)} chunks and ${count(hugeBlocks)} huge ones, ${bytesLabel(ownedBytes)}: every byte belongs to one block, ` +
        `every object is in one place, and the ${count(held)} objects that the workers hold are there.`,
    };
  }

  /** Whether the settings ask for another arena or other work than there is. */
  #isOutdated(): boolean {
    const { settings } = this.state;
    return (
      this.#arenaSettings === undefined ||
      !sameArena(settings, this.#arenaSettings) ||
      this.#workSettings === undefined ||
      !sameWork(settings, this.#workSettings)
    );
  }

  async #startRun(cycles: number): Promise<void> {
    await this.#stopRun();
    this.state.notices = [];
    this.#enter('starting');
    const crew = await this.#prepare();
    this.#enter('running');
    this.#run = crew
      .run(cycles)
      .catch((error: unknown) => {
        this.#spoiled = true;
        this.#fail(error);
      })
      .finally(() => {
        this.#run = undefined;
        this.#pauseMeters();
        this.#enter('idle');
      });
  }

  #pauseMeters(): void {
    const { operations, splits, merges, workers } = this.state;
    [operations, splits, merges, ...workers.map((worker) => worker.operations)].forEach((meter) =>
      meter.pause(),
    );
  }

  async #stopRun(): Promise<void> {
    if (this.#run !== undefined) {
      this.#enter('stopping');
      this.#crew?.stop();
      await this.#run;
    }
  }

  /** A crew that is attached to the right arena and has the right work. */
  async #prepare(): Promise<Crew> {
    const { settings } = this.state;
    const { arena } = this.#realm ?? {};
    if (
      arena === undefined ||
      this.#spoiled ||
      this.#arenaSettings === undefined ||
      !sameArena(settings, this.#arenaSettings)
    ) {
      await this.#renewArena();
      this.#enter('starting');
    }
    if (this.#crew !== undefined && this.#crew.size !== settings.workers) {
      await this.#dismissCrew();
    }
    const crew = this.#crew ?? (await this.#hireCrew());
    if (this.#workSettings === undefined || !sameWork(settings, this.#workSettings)) {
      const works = await divideWork(settings, (name) => this.#trace(name));
      await crew.release();
      await crew.assign(works);
      this.#workSettings = settings;
    }
    crew.control.pace = settings.pace;
    return crew;
  }

  async #hireCrew(): Promise<Crew> {
    const crew = new Crew(this.state.settings.workers, this.#onNote);
    this.#crew = crew;
    await crew.attach(this.#openRealm().arena.handle());
    this.state.workers = crew.slots.map((slot, number) => ({
      number,
      slot,
      tally: crew.control.tally(number),
      operations: new Meter(),
    }));
    this.state.operations = new Meter();
    return crew;
  }

  /** Lets the workers give everything back, then ends them. */
  async #dismissCrew(): Promise<void> {
    const crew = this.#crew;
    this.#crew = undefined;
    this.#workSettings = undefined;
    this.state.workers = [];
    if (crew === undefined) {
      return;
    }
    try {
      if (!this.#spoiled) {
        await crew.release();
        await crew.detach();
      }
    } finally {
      crew.terminate();
    }
  }

  async #renewArena(): Promise<void> {
    this.#enter('opening');
    await this.#dismissCrew();
    this.#realm?.close();
    this.#realm = undefined;
    this.#spoiled = false;
    this.state.watch.clear();
    this.state.snapshot = undefined;
    this.state.operations = new Meter();
    this.state.splits = new Meter();
    this.state.merges = new Meter();
    const { settings } = this.state;
    this.#realm = await openArena(settings.arena);
    this.#arenaSettings = settings;
    this.#enter('idle');
  }

  #openRealm(): ArenaRealm {
    if (this.#realm === undefined) {
      throw new Error('there is no arena');
    }
    return this.#realm;
  }

  async #trace(name: TraceName): Promise<Trace> {
    const known = this.#traces.get(name);
    if (known !== undefined) {
      return known;
    }
    const trace = await loadTrace(new URL(`traces/${name}.wtrace.gz`, document.baseURI).href);
    this.#traces.set(name, trace);
    return trace;
  }

  readonly #onNote: NoteListener = (worker, note) => {
    this.#notify(
      note.kind === 'violation'
        ? { kind: 'error', title: `Worker ${worker} · stamp violation`, message: note.text }
        : { kind: 'warning', title: `Worker ${worker} · out of memory`, message: note.text },
    );
  };

  /** Runs an action after those before it; an error of it is shown. */
  #act(action: () => Promise<void>): Promise<void> {
    this.#actions = this.#actions.then(action).catch((error: unknown) => this.#fail(error));
    return this.#actions;
  }

  #fail(error: unknown): void {
    const report: ErrorReport = error instanceof WorkerFailure ? error.report : reportError(error);
    this.#notify(errorNotice(report));
    this.#enter(this.#realm === undefined ? 'failed' : 'idle');
  }

  #notify(notice: Notice): void {
    this.state.notices.push(notice);
    this.#changed();
  }

  #enter(phase: Phase): void {
    this.state.phase = phase;
    this.#changed();
  }
}
