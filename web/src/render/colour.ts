/**
 * Colours by lightness, chroma and hue as the eye sees them (OKLCH), turned into the pixels of an
 * ImageData. The conversion is Björn Ottosson's OKLab, in its linear form.
 */

/** One pixel: red, green, blue and an opaque alpha, in the byte order of an ImageData. */
export type Pixel = number;

function gamma(linear: number): number {
  const clipped = Math.min(1, Math.max(0, linear));
  return clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * clipped ** (1 / 2.4) - 0.055;
}

/** Red, green and blue, 0 to 255, of a lightness (0 to 1), a chroma and a hue in degrees. */
export function oklch(lightness: number, chroma: number, hue: number): [number, number, number] {
  const angle = (hue * Math.PI) / 180;
  const a = chroma * Math.cos(angle);
  const b = chroma * Math.sin(angle);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return linear.map((value) => Math.round(gamma(value) * 255)) as [number, number, number];
}

const scratch = new Uint8ClampedArray(4);
const scratchPixel = new Uint32Array(scratch.buffer);

/** The pixel of a colour, whatever the byte order of this machine. */
export function pixel(lightness: number, chroma: number, hue: number): Pixel {
  scratch.set([...oklch(lightness, chroma, hue), 255]);
  return scratchPixel[0]!;
}

/** The same pixel as a CSS colour. */
export function cssColour(value: Pixel): string {
  scratchPixel[0] = value;
  return `rgb(${scratch[0]} ${scratch[1]} ${scratch[2]})`;
}
