/** The kinds of kills. */
import { killAtChosen } from './chosen.mjs';
import { killAtRandom } from './random.mjs';

export const KINDS = { random: killAtRandom, chosen: killAtChosen };
