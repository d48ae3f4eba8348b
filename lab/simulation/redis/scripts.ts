import { SCRIPTS, type LuaScript, type ScriptName } from '../../../lib/store/redis/scripts.generated.js';
import { scriptsWithSmallLimits } from './small-limits.mjs';

const small = scriptsWithSmallLimits(Object.values(SCRIPTS).map(({ name }) => name));

/** The text that a server executes for a script that a client has sent. */
export const textOf = (name: ScriptName, hasSmallLimits: boolean): LuaScript =>
  hasSmallLimits ? small.get(SCRIPTS[name].name)! : SCRIPTS[name];
