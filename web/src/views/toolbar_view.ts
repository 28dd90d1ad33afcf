/**
 * The toolbar: what can be done now, and what is being done.
 *
 * A button that has no use now is marked for assistive technology and ignores clicks, but stays
 * focusable: pressing Start with the keyboard must not throw the focus away.
 */
import type { Laboratory } from '../laboratory.ts';
import type { Phase } from '../model/state.ts';
import { byId, setAttribute, setText } from './dom.ts';

const PHASE_LABELS: Record<Phase, string> = {
  opening: 'Opening',
  idle: 'Stopped',
  starting: 'Starting',
  running: 'Running',
  stopping: 'Stopping',
  verifying: 'Verifying',
  failed: 'Failed',
};

/** The phases in which a button can be pressed. */
const ENABLED: Record<'start' | 'stop' | 'step' | 'verify' | 'reset', readonly Phase[]> = {
  start: ['idle', 'failed'],
  stop: ['running', 'starting'],
  step: ['idle'],
  verify: ['idle', 'running'],
  reset: ['idle', 'running', 'failed'],
};

export class ToolbarView {
  readonly #phase = byId('phase', HTMLElement);
  readonly #buttons: [keyof typeof ENABLED, HTMLButtonElement][];

  constructor(laboratory: Laboratory) {
    this.#buttons = (Object.keys(ENABLED) as (keyof typeof ENABLED)[]).map((name) => {
      const button = byId(name, HTMLButtonElement);
      button.addEventListener('click', () => {
        if (ENABLED[name].includes(laboratory.state.phase)) {
          void laboratory[name]();
        }
      });
      return [name, button];
    });
  }

  update(phase: Phase): void {
    setText(this.#phase, PHASE_LABELS[phase]);
    setAttribute(this.#phase, 'data-phase', phase);
    for (const [name, button] of this.#buttons) {
      setAttribute(button, 'aria-disabled', String(!ENABLED[name].includes(phase)));
    }
  }
}
