/**
 * The log of deaths, the newest first: how long each took until it was reaped, what came back, and what
 * its program left; and above them, once a verification has found any, the objects that were caught
 * between two steps. It comes with the first death and goes with the arena.
 */
import type { ArenaObject, Reaped } from 'warena';
import {
  locksLabel,
  millisecondsLabel,
  objectsLabel,
  plural,
  type Death,
} from '../model/death.ts';
import { bytesOf } from '../model/held_objects.ts';
import type { State } from '../model/state.ts';
import { actionButton, make, setAttribute, setText } from './dom.ts';

interface Actions {
  freeLeft: (death: Death) => void;
  freeCaught: () => void;
}

/** One line of the log. */
class Entry {
  readonly element: HTMLElement;
  readonly #title = make('b');
  readonly #when = make('span', { class: 'death-when' });
  readonly #text = make('p');
  readonly #rest = make('p', { class: 'death-left' });
  readonly #left = make('span');
  readonly #free: HTMLButtonElement;

  constructor(free: () => void) {
    this.#free = actionButton('free-left', 'Free', free);
    this.element = make(
      'li',
      { class: 'death-entry' },
      make('p', {}, this.#title, ' ', this.#when),
      this.#text,
      this.#rest,
    );
    this.#rest.append(this.#left, this.#free);
  }

  /** `left` is undefined while nobody knows it. */
  show(
    kind: 'killed' | 'reaped' | 'caught',
    title: string,
    when: string,
    text: string,
    left: readonly { bytes: number }[] | undefined,
  ): void {
    setAttribute(this.element, 'data-death', kind);
    setText(this.#title, title);
    setText(this.#when, when);
    setText(this.#text, text);
    this.#rest.hidden = left === undefined;
    if (left === undefined) {
      return;
    }
    setText(this.#left, `left allocated: ${objectsLabel(left.length, bytesOf(left))}`);
    setAttribute(this.#left, 'data-value', String(left.length));
    setAttribute(this.#free, 'aria-label', `Free what was left: ${title}`);
    this.#free.hidden = left.length === 0;
  }
}

export class DeathsView {
  readonly #panel: HTMLElement;
  readonly #list: HTMLElement;
  readonly #actions: Actions;
  readonly #entries = new Map<Death, Entry>();
  readonly #caught: Entry;
  #shown: Element[] = [];

  constructor(panel: HTMLElement, list: HTMLElement, actions: Actions) {
    this.#panel = panel;
    this.#list = list;
    this.#actions = actions;
    this.#caught = new Entry(actions.freeCaught);
  }

  update({ deaths, caught }: State): void {
    this.#panel.hidden = deaths.length === 0;
    for (const death of this.#entries.keys()) {
      if (!deaths.includes(death)) {
        this.#entries.delete(death);
      }
    }
    const elements = deaths.map((death) => this.#show(death));
    if (caught.length > 0) {
      elements.unshift(this.#showCaught(caught));
    }
    const same =
      elements.length === this.#shown.length &&
      elements.every((element, index) => element === this.#shown[index]);
    if (!same) {
      this.#shown = elements;
      this.#list.replaceChildren(...elements);
    }
  }

  #show(death: Death): Element {
    let entry = this.#entries.get(death);
    if (entry === undefined) {
      entry = new Entry(() => this.#actions.freeLeft(death));
      this.#entries.set(death, entry);
    }
    const { worker, slot, reap, left } = death;
    const title = `Worker ${worker}`;
    if (reap === undefined) {
      const text = 'the browser may let it run on for two seconds';
      entry.show('killed', title, `slot ${slot} · killed`, text, undefined);
    } else {
      const when = `slot ${slot} · reaped in ${millisecondsLabel(reap.milliseconds)}`;
      entry.show('reaped', title, when, foundLabel(reap.found), left);
    }
    return entry.element;
  }

  #showCaught(caught: readonly ArenaObject[]): Element {
    this.#caught.show(
      'caught',
      'Caught in the act',
      'found by Verify',
      'allocated, and in nobody’s list: a worker was just allocating or freeing it',
      caught,
    );
    return this.#caught.element;
  }
}

function foundLabel(found: Reaped): string {
  const { objects, bytes, listedBlocks, reclaimedChunks } = found;
  return [
    `locks recovered: ${locksLabel(found)}`,
    `returned: ${objectsLabel(objects, bytes)}`,
    ...(listedBlocks > 0 ? [`listed anew: ${plural(listedBlocks, 'block')}`] : []),
    ...(reclaimedChunks > 0 ? [`reclaimed: ${plural(reclaimedChunks, 'chunk')}`] : []),
  ].join(' · ');
}
