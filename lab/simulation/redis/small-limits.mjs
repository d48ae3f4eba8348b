import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { withLua } from '../../mutations/mutate.mjs';
import { assembleScript } from '../../../scripts/lib/lua-source.mjs';
import { findMutation, MUTATION_VARIABLE } from '../../mutations/list.mjs';

/** The limits of the scripts, and small ones in their place: few callers then reach each of them. */
export const SMALL_LIMITS = [
  ['lua/shared/grant-waiters.lua', 'MAX_TICKETS, MAX_GRANTS = 32, 15', 'MAX_TICKETS, MAX_GRANTS = 3, 2'],
  ['lua/shared/ends.lua', 'HOLDS_PER_PIECE = 32', 'HOLDS_PER_PIECE = 2'],
  ['lua/shared/ends.lua', 'ENDS_PER_READ = 32', 'ENDS_PER_READ = 2'],
  ['lua/inspect.lua', 'HOLDS_PER_PAGE = 48', 'HOLDS_PER_PAGE = 2'],
].map(([file, from, to]) => ({ name: 'small limits', file, from, to }));

/**
 * The scripts with small limits, and with the mutation of this process.
 * @param {readonly string[]} names
 * @returns {Map<string, import('../../../lib/store/redis/scripts.generated.js').LuaScript>}
 */
export function scriptsWithSmallLimits(names) {
  const mutation = findMutation(process.env[MUTATION_VARIABLE] ?? '');
  const mutations = mutation?.file.startsWith('lua/') ? [...SMALL_LIMITS, mutation] : SMALL_LIMITS;
  return withLua(mutations, (directory) => {
    return new Map(
      names.map((name) => {
        const source = assembleScript(join(directory, 'lua'), `${name}.lua`);
        return [name, { name, source, sha1: createHash('sha1').update(source).digest('hex') }];
      }),
    );
  });
}
