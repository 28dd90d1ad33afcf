/** The notices: errors in full, warnings, and the result of the last verification. */
import type { Notice } from '../model/state.ts';
import { make } from './dom.ts';

export class NoticesView {
  readonly #list: HTMLElement;
  readonly #dismiss: (notice: Notice) => void;
  #shown: Notice[] = [];

  /** `dismiss` is called when a notice's button is pressed. */
  constructor(list: HTMLElement, dismiss: (notice: Notice) => void) {
    this.#list = list;
    this.#dismiss = dismiss;
  }

  update(notices: readonly Notice[]): void {
    const same =
      notices.length === this.#shown.length &&
      notices.every((notice, index) => notice === this.#shown[index]);
    if (!same) {
      this.#shown = [...notices];
      this.#list.replaceChildren(...notices.map((notice) => this.#panel(notice)));
    }
  }

  #panel(notice: Notice): HTMLElement {
    const close = make('button', { type: 'button', 'aria-label': `Dismiss: ${notice.title}` }, '×');
    close.addEventListener('click', () => this.#dismiss(notice));
    return make(
      'section',
      { class: `notice ${notice.kind}`, 'data-notice': notice.kind },
      make('h2', {}, notice.title),
      make('p', {}, notice.message),
      close,
    );
  }
}
