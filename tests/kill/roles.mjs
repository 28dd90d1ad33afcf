/** What workers can be started as. */
import { comeAndGo, inherit, play } from './play.mjs';
import { work } from './work.mjs';

export const ROLES = { work, play, inherit, comeAndGo };
