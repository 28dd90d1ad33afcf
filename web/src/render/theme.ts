/** Dark or light, as the system asks, and the colours that go with it. */
import { BlockState } from 'warena';
import { LARGEST_ORDER } from '../model/order.ts';
import { cssColour } from './colour.ts';
import { makePalette, type Palette } from './palette.ts';

/** All colours that the page computes. */
export interface Look {
  palette: Palette;
  /** The CSS colour of an allocated block of each order. */
  orderColours: readonly string[];
}

function makeLook(dark: boolean): Look {
  const palette = makePalette(dark ? 'dark' : 'light');
  const orderColours = Array.from({ length: LARGEST_ORDER + 1 }, (_, order) =>
    cssColour(palette.fill[(BlockState.Allocated << 5) | order]!),
  );
  return { palette, orderColours };
}

/** The look that the system asks for now. */
export class Theme {
  #look: Look;

  /** `changed` is called when the system goes from dark to light or back. */
  constructor(changed: () => void) {
    const dark = window.matchMedia('(prefers-color-scheme: dark)');
    this.#look = makeLook(dark.matches);
    dark.addEventListener('change', ({ matches }) => {
      this.#look = makeLook(matches);
      changed();
    });
  }

  get look(): Look {
    return this.#look;
  }
}
