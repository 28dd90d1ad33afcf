/**
 * The laboratory: one arena, the workers that run on it, and what may be done with them.
 *
 * Actions are carried out one after the other, in the order they were asked for. A run is started
 * by an action but not awaited in it, so that `stop` can follow. Every error ends up in the state,
 * where the page shows it.
 */
import type { Snapshot } from 'warena';
import { Deaths } from './deaths.ts';
import type { Death } from './model/death.ts';
import {
  AT_WORK,
  errorNotice,
  initialState,
  type Notice,
  type Phase,
  type State,
  type WorkerReading,
} from './model/state.ts';
import { Meter } from './model/meter.ts';
import { reportError, type ErrorReport } from './model/error_report.ts';
import { sameArena, sameWork, type Settings } from './model/settings.ts';
import { SamplePace } from './model/sample_pace.ts';
import { loadTrace } from './model/trace_file.ts';
import type { Trace } from './model/trace.ts';
import type { TraceName } from './model/trace_catalogue.ts';
import { divideWork } from './model/work.ts';
import { openArena, type ArenaRealm } from './realm/arena_realm.ts';
import { Crew } from './workers/crew.ts';
import { WorkerFailure, type NoteListener } from './workers/member.ts';

export class Laboratory {
  readonly state: State = initialState();
  readonly #changed: () => void;
  readonly #traces = new Map<TraceName, Trace>();
  #realm: ArenaRealm | undefined;
  #deaths: Deaths | undefined;
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
      const deaths = this.#deaths;
      if (arena === undefined || deaths === undefined) {
        return;
      }
      await this.#settleDeaths();
      this.#enter('verifying');
      try {
        this.#notify(deaths.audit(this.#crew, arena.verify()));
      } finally {
        this.#enter('idle');
      }
    });
  }

  /** Ends a worker, whatever it does. No other one notices. */
  kill(worker: WorkerReading): void {
    if (this.#crew !== undefined && worker.life === 'living' && AT_WORK.includes(this.state.phase)) {
      this.#deaths?.kill(this.#crew, worker);
    }
  }

  /** Starts another worker in the place of one that was killed; it joins the run. */
  startAnother(worker: WorkerReading): Promise<void> {
    return this.#act(async () => {
      // An action before this one may have seen to it, or sent all workers home.
      if (this.state.workers.includes(worker) && worker.life === 'reaped') {
        await this.#replace(worker);
      }
    });
  }

  /** Frees what the program of a killed worker had allocated, without stopping anybody. */
  freeLeft(death: Death): void {
    this.#try(() => this.#deaths?.free(death));
  }

  /** Frees what killed workers were just allocating or freeing. */
  freeCaught(): void {
    this.#try(() => this.#deaths?.freeCaught());
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
      const start = performance.now();
      this.#takeSnapshot(this.#realm);
      this.#samplePace.took(performance.now() - start);
    }
    if (this.#crew !== undefined) {
      const { control } = this.#crew;
      this.state.workers.forEach((worker) => (worker.tally = control.tally(worker.number)));
    }
  }

  #takeSnapshot({ arena }: ArenaRealm): Snapshot {
    const snapshot = this.state.watch.sample((into) => arena.snapshot(into));
    this.state.snapshot = snapshot;
    return snapshot;
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
    await this.#settleDeaths();
    for (const worker of this.state.workers.filter(({ life }) => life === 'reaped')) {
      await this.#replace(worker);
    }
    const broken = crew.control.brokenUp;
    if (broken || this.#workSettings === undefined || !sameWork(settings, this.#workSettings)) {
      const works = await divideWork(settings, (name) => this.#trace(name));
      await crew.release();
      await crew.assign(works);
      this.#workSettings = settings;
    }
    crew.control.pace = settings.pace;
    return crew;
  }

  async #hireCrew(): Promise<Crew> {
    const { arena } = this.#openRealm();
    const crew = new Crew(this.state.settings.workers, arena.handle(), this.#onNote);
    this.#crew = crew;
    const slots = await crew.attach();
    this.state.workers = slots.map((slot, number) => ({
      number,
      slot,
      life: 'living',
      death: undefined,
      tally: crew.control.tally(number),
      operations: new Meter(),
    }));
    this.state.operations = new Meter();
    return crew;
  }

  /** Starts another worker in the place of one that is reaped. */
  async #replace(worker: WorkerReading): Promise<void> {
    const crew = this.#crew!;
    worker.life = 'joining';
    this.#changed();
    try {
      worker.slot = await crew.replace(worker.number);
      worker.life = 'living';
      worker.operations.pause();
    } catch (error) {
      worker.life = 'reaped';
      throw error;
    } finally {
      this.#changed();
    }
  }

  /** Waits until all who were killed are reaped. */
  async #settleDeaths(): Promise<void> {
    try {
      await this.#deaths?.settled();
    } catch (error) {
      this.#spoiled = true;
      throw error;
    }
  }

  /** Lets the workers give everything back, then ends them. */
  async #dismissCrew(): Promise<void> {
    const crew = this.#crew;
    this.#crew = undefined;
    this.#workSettings = undefined;
    if (crew === undefined) {
      return;
    }
    try {
      if (!this.#spoiled) {
        await this.#settleDeaths();
        await crew.release();
        this.#deaths?.collect(crew);
        await crew.detach();
      }
    } finally {
      crew.terminate();
      this.state.workers = [];
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
    const realm = await openArena(settings.arena);
    this.#realm = realm;
    this.#deaths = new Deaths(
      this.state,
      realm.arena,
      () => this.#takeSnapshot(realm),
      this.#changed,
    );
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

  /** Does something at once; an error of it is shown. */
  #try(deed: () => void): void {
    try {
      deed();
    } catch (error) {
      this.report(error);
    }
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
