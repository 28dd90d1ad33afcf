/** A sparkline in the page: the history of one meter. */
import { HISTORY, type Meter } from '../model/meter.ts';
import { sparklinePath } from '../render/sparkline.ts';
import { setAttribute } from './dom.ts';

const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 96;
const HEIGHT = 24;

export class SparklineView {
  readonly element: SVGSVGElement;
  readonly #path: SVGPathElement;

  constructor() {
    this.element = document.createElementNS(SVG, 'svg');
    this.element.setAttribute('class', 'sparkline');
    this.element.setAttribute('viewBox', `0 0 ${WIDTH} ${HEIGHT}`);
    this.element.setAttribute('preserveAspectRatio', 'none');
    // The rate stands beside it as text.
    this.element.setAttribute('aria-hidden', 'true');
    this.#path = document.createElementNS(SVG, 'path');
    this.element.append(this.#path);
  }

  update(meter: Meter): void {
    setAttribute(this.#path, 'd', sparklinePath(meter.history, HISTORY, WIDTH, HEIGHT));
  }
}
