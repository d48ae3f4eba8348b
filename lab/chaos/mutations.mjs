/** @typedef {import('../mutations/mutate.mjs').Mutation & { readonly topology: string }} ChaosMutation */

const LATCH_WATCH = 'lib/engine/latch-watch.ts';
/** Faults that explain nothing, where the mutation needs none. */
const QUIET = ['client killed', 'client stopped', 'network cut'];

/**
 * Lines of the library, and the replacement of each, to see whether chaos detects it: on which topology. `from` occurs
 * there once. `only` names the kinds of fault that the line handles.
 * @type {readonly ChaosMutation[]}
 */
export const MUTATIONS = [
  {
    name: 'ignored-tombstones',
    what: 'Redlock: an acquisition that has left, or was ended by force, is still granted',
    ...{ file: 'lua/shared/tombstones.lua', topology: 'redlock' },
    from: 'return ends and tonumber(ends) > now',
    to: 'return false',
  },
  {
    name: 'unmarked-latch',
    what: 'a latch that is gone has opened',
    ...{ file: LATCH_WATCH, topology: 'single', only: ['all deleted', 'server restarted empty'] },
    from: 'waiter.refused(lost(this.key));',
    to: 'waiter.served(true);',
  },
  {
    name: 'ignored-hold-count',
    what: 'Redisson: a lock counts as free if Java holds it twice',
    ...{ file: 'lua/redisson/acquire.lua', topology: 'redisson', only: QUIET },
    from: "if redis.call('HEXISTS', LOCK, owner) == 0 then",
    to: "if redis.call('HEXISTS', LOCK, owner) == 0 and redis.call('HVALS', LOCK)[1] == '1' then",
  },
  {
    name: 'ignored-mode',
    what: 'Redisson: a reader does not look whether a writer holds the lock',
    ...{ file: 'lua/redisson/acquire-shared.lua', topology: 'redisson', only: QUIET },
    from: "local admits = mode == 'read' or mode == 'write' and redis.call('HEXISTS', LOCK, writer .. ':write') == 1",
    to: 'local admits = true',
  },
  {
    name: 'released-by-any',
    what: 'Redisson: a release removes the hold of any caller',
    ...{ file: 'lua/redisson/shared/end-hold.lua', topology: 'redisson', only: ['client stopped beyond its lease'] },
    from: "local reads = redis.call('HDEL', lock, owner)",
    to: "local reads = redis.call('HGET', lock, 'mode') and redis.call('HDEL', lock, owner) or redis.call('DEL', lock)",
  },
];
