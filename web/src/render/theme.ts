/** Dark or light, as the system asks, and the palette that goes with it. */
import { BlockState } from 'warena';
import { LARGEST_ORDER } from '../model/order.ts';
import { cssColour } from './colour.ts';
import { makePalette, type Palette } from './palette.ts';

export class Theme {
  palette!: Palette;
  /** The CSS colour of an allocated block of each order. */
  orderColours!: readonly string[];

  /** `changed` is called when the system goes from dark to light or back. */
  constructor(changed: () => void) {
    const dark = window.matchMedia('(prefers-color-scheme: dark)');
    this.#take(dark.matches);
    dark.addEventListener('change', ({ matches }) => {
      this.#take(matches);
      changed();
    });
  }

  #take(dark: boolean): void {
    const palette = makePalette(dark ? 'dark' : 'light');
    this.palette = palette;
    this.orderColours = Array.from({ length: LARGEST_ORDER + 1 }, (_, order) =>
      cssColour(palette.fill[(BlockState.Allocated << 5) | order]!),
    );
  }
}
