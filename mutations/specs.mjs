/**
 * A mutation that a spec finds: of a part that neither the simulation nor chaos runs, or that they meet rarely.
 * @typedef {import('./mutate.mjs').Mutation & { readonly spec: string, readonly test?: string }} SpecMutation
 */

const REDIS = 'lib/store/redis';
const SHARED_LOCK = 'test/integration/locks/shared-lock-object.spec.ts';
const OPERATOR = 'test/faults/operator-commands.spec.ts';
const PASSED_OVER = 'test/faults/races/passed-over.spec.ts';
const DEAF_SIGNS = 'test/faults/deaf-subscriber-signs.spec.ts';
const RESTARTS = 'test/faults/redlock-restarts.spec.ts';
const CLOCKS = 'test/faults/redlock-clocks.spec.ts';

/**
 * `spec` is the spec to run, `test` a pattern for the names of its tests (all of them).
 * @type {readonly SpecMutation[]}
 */
export const SPEC_MUTATIONS = [
  {
    name: 'observers-first',
    what: 'observers learn of a loss before the signal aborts',
    ...{ file: 'lib/engine/hold.ts', spec: 'test/faults/throwing-observers.spec.ts' },
    from: 'this.controller?.abort(loss);\n',
    to: 'this.observers?.forEach((observer) => observer(this, loss));\n      this.controller?.abort(loss);\n',
  },
  {
    name: 'no-heartbeat',
    what: 'a silent subscriber connection is not replaced',
    ...{ file: `${REDIS}/heartbeat.ts`, spec: 'test/faults/deaf-subscriber.spec.ts' },
    from: 'this.silent();',
    to: '',
  },
  {
    name: 'ignored-absence',
    what: 'a reply that the server sees no subscriber is ignored',
    ...{ file: `${REDIS}/subscription-evidence.ts`, spec: DEAF_SIGNS },
    from: "subscription.doubt('the server sees no subscriber on the channel of this client');",
    to: '',
  },
  {
    name: 'ignored-find',
    what: 'a grant whose message never came is ignored',
    ...{ file: `${REDIS}/subscription-evidence.ts`, spec: DEAF_SIGNS },
    from: 'if (!this.told.has(id)) subscription.doubt(',
    to: "if (id === '') subscription.doubt(",
  },
  {
    name: 'subscribed-to-replica',
    what: 'a client subscribes to a replica',
    ...{ file: `${REDIS}/redis-connection.ts`, spec: DEAF_SIGNS },
    from: 'if (await isReplica(subscriber)) {',
    to: "if ((await isReplica(subscriber)) && subscriber.status === 'wait') {",
  },
  {
    name: 'first-sentinel-only',
    what: 'only the first Sentinel is asked for the master',
    ...{ file: `${REDIS}/sentinels.ts`, spec: 'test/faults/frozen-sentinel.spec.ts' },
    from: 'for (const sentinel of sentinels) askSentinel',
    to: 'for (const sentinel of sentinels.slice(0, 1)) askSentinel',
  },
  {
    name: 'superseded-master',
    what: 'the master of an older configuration replaces the present one',
    ...{ file: `${REDIS}/sentinels.ts`, spec: 'test/faults/sentinel-cut-off.spec.ts' },
    from: 'return votes > this.known.length / 2 && performance.now() - remembered.confirmed > LOYALTY;',
    to: 'return votes > 0 && LOYALTY > 0;',
  },
  {
    name: 'no-cluster-refresh',
    what: 'a command without an answer does not refresh the slots of a Cluster',
    ...{ file: `${REDIS}/cluster-connection.ts`, spec: 'test/faults/cluster-frozen.spec.ts' },
    from: "if (!this.closed && this.commands.status !== 'wait') void this.nodes.refresh();",
    to: '',
  },
  {
    name: 'forgotten-nodes',
    what: 'a client returns to the listed nodes of a Cluster only',
    ...{ file: `${REDIS}/cluster-connection.ts`, spec: 'test/faults/cluster-listed-nodes.spec.ts' },
    from: 'this.startup.splice(listed, Infinity, ...known);',
    to: 'this.startup.splice(listed, Infinity);',
  },
  {
    name: 'unconfirmed-verify',
    what: '`verify` does not wait for replicas',
    ...{ file: 'lib/engine/lease-operations.ts', spec: 'test/faults/kinds/replicas.spec.ts', test: 'verify' },
    from: 'const unconfirmed = replicas && (await this.unconfirmedBy(replicas, hold));',
    to: 'const unconfirmed = replicas && this.context.limits.commandTimeout < 0 && (await this.unconfirmedBy(replicas, hold));',
  },
  {
    name: 'impatient-confirmation',
    what: 'a confirmation by replicas fails with the first error of a failover',
    ...{ file: `${REDIS}/retried-confirmation.ts`, spec: 'test/faults/sentinel-cut-off.spec.ts', test: 'confirmation' },
    from: 'if (!(error as LockStoreError).transient || performance.now() + AGAIN > until) throw error;',
    to: 'if ((error as LockStoreError).message !== "" || performance.now() + AGAIN > until) throw error;',
  },
  {
    name: 'overlapping-calls',
    what: 'a shared Lock object does not refuse an overlapping call',
    ...{ file: 'lib/service/objects/default-lock.ts', spec: SHARED_LOCK },
    from: 'if (!isToldApart && taken.isInUse) {',
    to: 'if (!isToldApart && taken.isInUse && this.keys.length === 0) {',
  },
  {
    name: 'unlock-of-another-call',
    what: 'a call that got nothing unlocks the lock of another call',
    ...{ file: 'lib/service/objects/taken-locks.ts', spec: SHARED_LOCK },
    from: 'return this.strays > 0 || held.length < this.handles.length ? undefined : held.at(-1);',
    to: 'return held.at(-1);',
  },
  {
    name: 'renewed-after-scope',
    what: 'a lock that was not unlocked is renewed after the end of its scope',
    ...{ file: 'lib/service/objects/taken-locks.ts', spec: SHARED_LOCK },
    from: 'this.ended = why;\n    this.abandon(why);',
    to: 'this.ended = why;',
  },
  {
    name: 'password-in-cause',
    what: 'the cause of an error has the arguments of the command',
    ...{ file: `${REDIS}/foreign-error.ts`, spec: 'test/integration/safety/credentials.spec.ts' },
    from: 'Object.assign(copy, { command: { name: command } });',
    to: 'Object.assign(copy, { command: error.command });',
  },
  {
    name: 'inherited-options',
    what: 'options that a prototype adds are accepted',
    ...{ file: 'lib/options/plain-options.ts', spec: 'test/integration/locks/option-input.spec.ts' },
    from: 'if (inherited !== undefined) throw hidden(',
    to: "if (inherited === '') throw hidden(",
  },
  {
    name: 'holes-in-lists',
    what: 'a list of keys with a hole is accepted',
    ...{ file: 'lib/options/plain-options.ts', spec: 'test/integration/locks/option-input.spec.ts' },
    from: 'if (!Object.hasOwn(list, i)) return i;',
    to: 'if (!(i in Object(list)) && i < 0) return i;',
  },
  {
    name: 'foreign-origin',
    what: 'a page of another origin may read the dashboard',
    ...{ file: 'lib/dashboard/same-origin.ts', spec: 'test/integration/dashboard/dashboard.spec.ts' },
    from: 'const isOwn = site === undefined ? isOwnOrigin(headers) : ',
    to: 'const isOwn = site === undefined ? true : ',
  },
  {
    name: 'repeated-force-release',
    what: 'a forced release ends the holds that exist when it arrives',
    ...{ file: 'lua/force-release.lua', spec: OPERATOR },
    from: 'if granted_at[hold.id] == hold.since then',
    to: 'if #ARGV > 1 then',
  },
  {
    name: 'repeated-set-permits',
    what: 'a `setPermits` that arrives late replaces a later one',
    ...{ file: 'lua/set-limit.lua', spec: OPERATOR },
    from: 'if version <= seen then',
    to: 'if seen then',
  },
  {
    name: 'late-clients-keep-their-turn',
    what: 'a client that let a grant expire keeps its turn',
    ...{ file: 'lua/shared/grant-waiters.lua', spec: PASSED_OVER },
    from: 'id == asker or not string.find(passed, client_of(id), 1, true) and is_present(id)',
    to: 'id == asker or is_present(id)',
  },
  {
    name: 'no-parking',
    what: 'each release looks at the tickets of dead clients again',
    ...{ file: 'lua/shared/grant-waiters.lua', spec: PASSED_OVER },
    from: 'park(id) -- the ticket',
    to: 'rank = rank + 1 -- the ticket',
  },
  {
    name: 'latest-fair-only',
    what: 'a fair waiter that leaves ends the strict order of the others',
    ...{ file: 'lua/shared/queue.lua', spec: PASSED_OVER },
    from: "local count = (tonumber(redis.call('HGET', WAITERS, 'fair')) or 0) + change",
    to: 'local count = change',
  },
  {
    name: 'starving-queue',
    what: 'a waiter that asks for more permits than exist blocks the queue',
    ...{ file: 'lua/shared/grant-waiters.lua', spec: 'test/contract/redis.spec.ts', test: 'permit' },
    from: 'elseif exceeds_limit(ticket) then',
    to: 'elseif false then',
  },
  {
    name: 'refused-pause',
    what: 'a request is refused while `setPermits(0)` pauses the semaphore',
    ...{ file: 'lua/shared/modes.lua', spec: 'test/integration/kinds/semaphore.spec.ts' },
    from: 'return limit > 0 and request.units > limit',
    to: 'return request.units > limit',
  },
  {
    name: 'unanswered-short-waits',
    what: 'a wait of a few milliseconds ends before the first answer',
    ...{ file: 'lib/engine/waiter.ts', spec: 'test/faults/short-waits.spec.ts' },
    from: 'const FIRST_ANSWER = 250;',
    to: 'const FIRST_ANSWER = 0;',
  },
  {
    name: 'unnoticed-clocks',
    what: 'Redlock: no warning names a master whose clock differs',
    ...{ file: 'lib/store/quorum/master-clocks.ts', spec: CLOCKS, test: 'warning' },
    from: 'this.logger.warn(whyWarned(this.nameOf(place), ahead));',
    to: 'whyWarned(this.nameOf(place), ahead);',
  },
  {
    name: 'short-memory',
    what: 'a fence does not live longer if its token is ahead of the clock',
    ...{ file: 'lua/shared/token.lua', spec: CLOCKS, test: 'tokens' },
    from: 'math.max(0, (token - now_micros) / 1000)',
    to: 'math.max(0, (token - now_micros) * 0)',
  },
  {
    name: 'untold-masters',
    what: 'Redlock: masters that the majority does not need do not learn the token',
    ...{ file: 'lib/store/quorum/votes.ts', spec: CLOCKS, test: 'tokens' },
    from: 'state.member.ask((store) => store.fence({ key, id, token, batchSize })).catch(() => undefined);',
    to: 'void { state, key, id, token, batchSize };',
  },
  {
    name: 'unheard-tokens',
    what: 'Redlock: the last tokens of masters that did not grant the lock do not count',
    ...{ file: 'lib/store/quorum/write-token.ts', spec: CLOCKS, test: 'tokens' },
    from: '...states.map(({ lastToken }) => lastToken + 1),',
    to: '0 * states.length,',
  },
  {
    name: 'no-reinstatement',
    what: 'Redlock: votes that a master has lost are not taken again',
    ...{ file: 'lib/store/quorum/reinstatement.ts', spec: RESTARTS },
    from: 'if (missing.length === 0 || ',
    to: 'if (missing.length >= 0 || ',
  },
  {
    name: 'endless-reinstatement',
    what: 'Redlock: a vote that is taken again late outlives the lease',
    ...{ file: 'lua/reinstate.lua', spec: RESTARTS },
    from: 'if latest > 0 then hold.ends',
    to: 'if latest < 0 then hold.ends',
  },
  {
    name: 'reinstatement-beside',
    what: 'Redlock: a vote is taken again beside another holder',
    ...{ file: 'lua/reinstate.lua', spec: RESTARTS },
    from: 'if hold.ends <= now or not admits(holds, hold) then return 0 end',
    to: 'if hold.ends <= now then return 0 end',
  },
  {
    name: 'reinstatement-without-token',
    what: 'Redlock: a vote that is taken again brings no token',
    ...{ file: 'lua/reinstate.lua', spec: RESTARTS },
    from: 'remember_token(math.max(last_token(), last_of_all), left)',
    to: '',
  },
  {
    name: 'reinstatement-after-revoke',
    what: 'Redlock: a vote is taken again where the hold was ended by force',
    ...{ file: 'lua/reinstate.lua', spec: RESTARTS },
    from: ' or has_tombstone(revocation(id))',
    to: '',
  },
  {
    name: 'reinstatement-after-release',
    what: 'Redlock: a vote that is under way is taken again after the release',
    ...{ file: 'lib/store/quorum/quorum-store.ts', spec: RESTARTS },
    from: 'const open = given?.states[i]?.mayAnswer === true ? 2 * this.context.commandTimeout : 0;',
    to: 'const open = 0 * Number(given?.states[i]?.mayAnswer);',
  },
  {
    name: 'fixed-pauses',
    what: 'Redlock: the time of a try does not follow the round trips',
    ...{ file: 'lib/store/quorum/tie-break.ts', spec: 'test/integration/redlock/far-apart.spec.ts' },
    from: 'return now + pause < this.since + TRIPS * trip + LEAST ?',
    to: 'return now + pause < this.since + LEAST ?',
  },
  {
    name: 'endless-finish',
    what: 'a candidate waits without limit for the work of its last term',
    ...{ file: 'lib/service/objects/default-leader-election.ts', spec: 'test/integration/election/election.spec.ts' },
    from: 'this.pause(this.finishTimeout, stopped,',
    to: 'this.pause(this.finishTimeout * 1e3, stopped,',
  },
  {
    name: 'overlapping-advances',
    what: 'two overlapping `advance` of a manual clock count once',
    ...{ file: 'lib/testing/manual-clock.ts', spec: 'test/integration/testing/lock-testing.spec.ts' },
    from: 'this.advanced = this.advanced.then(() => this.pass(ms));',
    to: 'this.advanced = this.pass(ms);',
  },
  {
    name: 'second-release',
    what: 'a hold under release is released again if a reply names it as a holder',
    ...{ file: 'lib/engine/orphans.ts', spec: 'test/unit/engine/lock-engine.spec.ts' },
    from: 'holders.filter((id) => this.releases.ofHold(id) === undefined),',
    to: 'holders,',
  },
];
