/** Small helpers for the DOM: finding what index.html promises, and making what it does not hold. */

/** The element with this id. It is part of index.html, so its absence is a mistake in the project. */
export function byId<T extends HTMLElement>(id: string, type: new () => T): T {
  const element = document.getElementById(id);
  if (!(element instanceof type)) {
    throw new Error(`index.html has no ${type.name} with the id "${id}"`);
  }
  return element;
}

/** A new element with a class, attributes and children. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** Sets an element's text, unless it is there already: an untouched node costs no layout. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

/** Sets an attribute, unless it has the value already. */
export function setAttribute(element: Element, name: string, value: string): void {
  if (element.getAttribute(name) !== value) {
    element.setAttribute(name, value);
  }
}

/**
 * A button for the action `name`, by which it can be found. While it is marked as of no use now, it
 * stays focusable and does nothing.
 */
export function actionButton(name: string, text: string, press: () => void): HTMLButtonElement {
  const button = make('button', { type: 'button', class: 'small', 'data-action': name }, text);
  button.addEventListener('click', () => {
    if (button.getAttribute('aria-disabled') !== 'true') {
      press();
    }
  });
  return button;
}

const compact = new Intl.NumberFormat('en', {
  notation: 'compact',
  minimumSignificantDigits: 3,
  maximumSignificantDigits: 3,
});
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** A count, in full while it is short: `9,412`, `1.25M`. */
export function countLabel(count: number): string {
  return count < 100_000 ? whole.format(count) : compact.format(count);
}

/** A share of 1 as a percentage. */
export function shareLabel(share: number): string {
  return `${(share * 100).toFixed(1)}%`;
}
