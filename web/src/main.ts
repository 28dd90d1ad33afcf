/**
 * The page: wires the laboratory, the views and the frame loop together. A frame samples the heap,
 * then shows the state; figures are shown eight times a second, so that they can be read.
 */
import { Laboratory } from './laboratory.ts';
import type { Death } from './model/death.ts';
import { FrameRate } from './model/frame_rate.ts';
import { chunksIn } from './model/order.ts';
import { totals, type State, type WorkerReading } from './model/state.ts';
import { FrameLoop } from './render/frame_loop.ts';
import { Theme } from './render/theme.ts';
import { CompositionView } from './views/composition_view.ts';
import { DeathsView } from './views/deaths_view.ts';
import { byId, setText } from './views/dom.ts';
import { FiguresView } from './views/figures_view.ts';
import { HugeView } from './views/huge_view.ts';
import { LegendView } from './views/legend_view.ts';
import { MapView } from './views/map_view.ts';
import { NoticesView } from './views/notices_view.ts';
import { SettingsView } from './views/settings_view.ts';
import { ToolbarView } from './views/toolbar_view.ts';
import { TooltipView } from './views/tooltip_view.ts';
import { TransferView } from './views/transfer_view.ts';
import { WorkersView } from './views/workers_view.ts';

/** Milliseconds between two showings of the figures. */
const FIGURES_PERIOD = 125;

const loop = new FrameLoop(drawFrame);
const laboratory = new Laboratory(() => loop.request());
const { state } = laboratory;
const theme = new Theme(() => {
  state.watch.markAll();
  loop.request();
});
const frameRate = new FrameRate();

const toolbar = new ToolbarView(laboratory);
const notices = new NoticesView(byId('notices', HTMLElement), (notice) => {
  state.notices = state.notices.filter((other) => other !== notice);
  loop.request();
});
const map = new MapView(
  byId('map', HTMLElement),
  state.watch,
  new TooltipView(byId('tooltip', HTMLElement)),
);
const composition = new CompositionView(byId('composition', HTMLElement));
const huge = new HugeView(byId('huge', HTMLElement));
const legend = new LegendView(byId('legend', HTMLElement));
const figures = new FiguresView(byId('figures', HTMLElement), byId('heap', HTMLElement));
const deathActions = {
  startAnother: (worker: WorkerReading) => void laboratory.startAnother(worker),
  freeLeft: (death: Death) => laboratory.freeLeft(death),
};
const workers = new WorkersView(byId('workers-list', HTMLElement), {
  kill: (worker) => laboratory.kill(worker),
  ...deathActions,
});
const deaths = new DeathsView(byId('deaths', HTMLElement), byId('deaths-list', HTMLElement), {
  freeLeft: deathActions.freeLeft,
  freeCaught: () => laboratory.freeCaught(),
});
const transfer = new TransferView(byId('transfer', HTMLElement));
const chunksNote = byId('chunks-note', HTMLElement);
new SettingsView(state.settings, (settings) => void laboratory.change(settings));

let figuresShownAt = 0;

function drawFrame(time: number): boolean {
  const active = state.phase === 'running' || state.phase === 'stopping';
  state.framesPerSecond = frameRate.frame(time, active);
  laboratory.sample();
  // At rest every frame shows the figures: there is no next one that would.
  const due = !active || time - figuresShownAt >= FIGURES_PERIOD;
  if (due) {
    figuresShownAt = time;
    sampleMeters(state, time);
  }
  const { palette, orderColours } = theme.look;
  const leftToPaint = map.update(palette);
  toolbar.update(state.phase);
  notices.update(state.notices);
  legend.update(orderColours);
  workers.update(state, orderColours, due);
  transfer.update(state, orderColours, due);
  deaths.update(state);
  if (due) {
    figures.update(state);
    composition.update(state, palette);
    huge.update(state, palette);
    setText(chunksNote, chunksLabel(state));
  }
  return active || leftToPaint;
}

function sampleMeters({ phase, workers, operations, splits, merges, snapshot }: State, time: number) {
  if (phase !== 'running') {
    return;
  }
  for (const { operations: meter, tally } of workers) {
    meter.sample(time, tally.allocations + tally.frees);
  }
  const { allocations, frees } = totals(workers);
  operations.sample(time, allocations + frees);
  splits.sample(time, snapshot?.heap.splits ?? 0);
  merges.sample(time, snapshot?.heap.merges ?? 0);
}

function chunksLabel({ snapshot, settings, watch }: State): string {
  if (snapshot === undefined) {
    return '';
  }
  const most = chunksIn(settings.arena.maximumBytes);
  const inHuge = snapshot.huge.reduce((sum, { chunks }) => sum + chunks, 0);
  const apart = inHuge === 0 ? '' : ` and ${inHuge} in huge objects`;
  return `${watch.chunks.length} × 1 MiB${apart}, at most ${most} · each block a rectangle along the Z-order curve`;
}

// What nobody caught is shown as well: a page that stands still without a word helps nobody.
window.addEventListener('error', ({ error, message }) => showUncaught(error ?? message));
window.addEventListener('unhandledrejection', ({ reason }) => showUncaught(reason));

function showUncaught(error: unknown): void {
  laboratory.report(error);
  // The next frame may fail in the same way before it reaches the notices.
  notices.update(state.notices);
}

window.addEventListener('resize', () => loop.request());
void laboratory.open();
