/** @typedef {import('../mutations/mutate.mjs').Mutation & { readonly topology: string }} ChaosMutation */

const LATCH_WATCH = 'lib/engine/latch-watch.ts';
const TALLY = 'lib/store/quorum/round.ts';
const TOKEN = 'lib/store/quorum/write-token.ts';
/** Faults that explain nothing, where the mutation needs none. */
const QUIET = ['client killed', 'client stopped', 'network cut'];

/**
 * Lines of the library, and the replacement of each, to see whether chaos detects it: on which topology. `from` occurs
 * there once. With `kept` faults keep every assumption of the docs, so that nothing is explained; `only` names the
 * kinds of fault that the line handles; `holders` and `defaultTimeouts` are as for a run.
 * @type {readonly ChaosMutation[]}
 */
export const MUTATIONS = [
  {
    name: 'unwritten-token',
    what: 'Redlock: a token is not written to a majority',
    ...{ file: TOKEN, topology: 'redlock', kept: true },
    from: 'const decided = await write(context, { key, id, token, batchSize: reserved }, held, states);',
    to: `for (const state of held) state.token = token;\n    const decided = 'written';`,
  },
  {
    name: 'minority-renewal',
    what: 'Redlock: a renewal counts that one of three masters has confirmed',
    ...{ file: TALLY, topology: 'redlock', only: ['majority away', 'majority back empty'], holders: 'patient' },
    from: 'if (left.length >= quorum) return [...left].sort((a, b) => b - a)[quorum - 1];',
    to: 'if (left.length >= 1) return [...left].sort((a, b) => b - a)[0];',
  },
  {
    name: 'ignored-tombstones',
    what: 'Redlock: an acquisition that has left, or was ended by force, is still granted',
    ...{ file: 'lua/shared/tombstones.lua', topology: 'redlock' },
    from: 'return ends and tonumber(ends) > now',
    to: 'return false',
  },
  {
    name: 'extend-from-arrival',
    what: 'Redlock: what `extend` has set counts from the arrival of the answer',
    ...{ file: 'lib/engine/lease-operations.ts', topology: 'redlock', only: ['client far away'], holders: 'extending' },
    from: 'this.watchdog.answered(grant, question, left!);',
    to: 'this.watchdog.answered(grant, { ...question, sent: clock.now() }, left!);',
  },
  {
    name: 'vote-after-revoke',
    what: 'Redlock: a vote is taken again where the hold was ended by force',
    ...{ file: 'lua/reinstate.lua', topology: 'redlock', only: ['forced release on one master'], holders: 'patient' },
    from: ' or has_tombstone(revocation(id))',
    to: '',
  },
  {
    name: 'unnamed-force-release',
    what: 'a force release ends whatever is held when it arrives',
    ...{ file: 'lua/force-release.lua', topology: 'single', only: ['forced release sent again'] },
    from: `for id, since in pairs(granted_at) do
  local hold = find_hold(holds, id)
  if hold and hold.since == since then`,
    to: `for _, id in ipairs(some_holders(holds)) do
  local hold = find_hold(holds, id)
  if hold and #ARGV > 1 then`,
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
