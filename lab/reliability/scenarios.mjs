/**
 * @typedef {object} Scenario
 * @property {string} topology
 * @property {string} fault
 * @property {'kept' | 'lost' | 'either'} hold
 * @property {number} within ms
 * @property {string} test
 */

const FAULTS = 'test/faults';

/**
 * The measured scenarios. `hold`: the required outcome for a hold, `kept`, `lost` (and its holder notified) or
 * `either`; `within`: ms by which service has to be normal again, generous, since machines differ; `test`: where the
 * same is asserted.
 * @type {readonly Scenario[]}
 */
export const SCENARIOS = [
  ...on('single', [
    ['restart', 'kept', 10_000, `${FAULTS}/redis-gone.spec.ts`],
    ['restart-empty', 'lost', 10_000, `${FAULTS}/restarted-empty.spec.ts`],
    ['freeze', 'kept', 15_000, `${FAULTS}/frozen-redis.spec.ts`],
    ['pause', 'kept', 15_000, `${FAULTS}/frozen-redis.spec.ts`],
    ['subscriptions-killed', 'kept', 10_000, `${FAULTS}/subscription-killed.spec.ts`],
    ['connections-killed', 'kept', 10_000, `${FAULTS}/lost-replies.spec.ts`],
    ['scripts-flushed', 'kept', 10_000, `${FAULTS}/script-cache.spec.ts`],
    ['holder-killed', 'lost', 15_000, `${FAULTS}/kinds/dead-clients.spec.ts`],
    ['holder-stalled', 'lost', 15_000, `${FAULTS}/stalled-holder.spec.ts`],
  ]),
  ...on('pair', [
    ['failover', 'kept', 20_000, `${FAULTS}/plain-failover.spec.ts`],
    ['subscriptions-forgotten', 'kept', 15_000, `${FAULTS}/deaf-subscriber.spec.ts`],
    ['subscriptions-silent', 'kept', 15_000, `${FAULTS}/deaf-subscriber.spec.ts`],
  ]),
  ...on('sentinel', [
    ['restart', 'either', 60_000, 'test/integration/sentinel/outages.spec.ts'],
    ['restart-empty', 'lost', 60_000, 'test/integration/sentinel/outages.spec.ts'],
    ['freeze', 'either', 60_000, 'test/integration/sentinel/outages.spec.ts'],
    ['pause', 'either', 60_000, 'test/integration/sentinel/outages.spec.ts'],
    ['subscriptions-killed', 'kept', 10_000, 'test/integration/sentinel/outages.spec.ts'],
    ['connections-killed', 'kept', 10_000, `${FAULTS}/lost-replies.spec.ts`],
    ['scripts-flushed', 'kept', 10_000, `${FAULTS}/script-cache.spec.ts`],
    ['holder-killed', 'lost', 15_000, `${FAULTS}/kinds/dead-clients.spec.ts`],
    ['holder-stalled', 'lost', 15_000, `${FAULTS}/stalled-holder.spec.ts`],
    ['master-killed', 'either', 60_000, 'test/integration/sentinel/failover.spec.ts'],
    ['sentinel-failover', 'either', 60_000, 'test/integration/sentinel/failover.spec.ts'],
    ['failover-unasked', 'either', 90_000, `${FAULTS}/plain-failover.spec.ts`],
    ['sentinel-frozen', 'kept', 10_000, `${FAULTS}/frozen-sentinel.spec.ts`],
    ['sentinel-and-master-frozen', 'either', 20_000, `${FAULTS}/frozen-sentinel.spec.ts`],
    ['sentinel-and-master-cut-off', 'either', 20_000, `${FAULTS}/frozen-sentinel.spec.ts`],
    ['subscriptions-forgotten', 'kept', 15_000, `${FAULTS}/deaf-subscriber.spec.ts`],
    ['subscriptions-silent', 'kept', 15_000, `${FAULTS}/deaf-subscriber.spec.ts`],
  ]),
  ...on('cluster', [
    ['restart', 'either', 60_000, `${FAULTS}/cluster-outages.spec.ts`],
    ['restart-empty', 'lost', 60_000, `${FAULTS}/cluster-outages.spec.ts`],
    ['freeze', 'either', 60_000, `${FAULTS}/cluster-outages.spec.ts`],
    ['pause', 'either', 60_000, `${FAULTS}/cluster-outages.spec.ts`],
    ['subscriptions-killed', 'kept', 10_000, `${FAULTS}/cluster-migration.spec.ts`],
    ['connections-killed', 'kept', 10_000, `${FAULTS}/cluster-migration.spec.ts`],
    ['scripts-flushed', 'kept', 10_000, `${FAULTS}/cluster-network.spec.ts`],
    ['holder-killed', 'lost', 15_000, 'test/integration/cluster/handoff.spec.ts'],
    ['holder-stalled', 'lost', 15_000, `${FAULTS}/cluster-outages.spec.ts`],
    ['master-killed', 'either', 60_000, `${FAULTS}/cluster-failover.spec.ts`],
    ['cluster-failover', 'kept', 30_000, `${FAULTS}/cluster-failover.spec.ts`],
    ['slot-moved', 'kept', 30_000, `${FAULTS}/cluster-migration.spec.ts`],
    ['master-frozen', 'either', 20_000, `${FAULTS}/cluster-frozen.spec.ts`],
    ['listed-gone', 'either', 30_000, `${FAULTS}/cluster-frozen.spec.ts`],
    ['subscriptions-forgotten', 'kept', 15_000, `${FAULTS}/deaf-subscriber.spec.ts`],
    ['subscriptions-silent', 'kept', 15_000, `${FAULTS}/deaf-subscriber.spec.ts`],
  ]),
  ...on('redlock', [
    ['restart', 'kept', 10_000, `${FAULTS}/redlock-outages.spec.ts`],
    ['restart-empty', 'kept', 10_000, 'test/integration/redlock/renewal.spec.ts'],
    ['freeze', 'kept', 15_000, 'test/integration/redlock/renewal.spec.ts'],
    ['pause', 'kept', 15_000, 'test/integration/redlock/renewal.spec.ts'],
    ['subscriptions-killed', 'kept', 10_000, `${FAULTS}/redlock-outages.spec.ts`],
    ['connections-killed', 'kept', 10_000, `${FAULTS}/redlock-outages.spec.ts`],
    ['scripts-flushed', 'kept', 10_000, `${FAULTS}/redlock-outages.spec.ts`],
    ['holder-killed', 'lost', 15_000, `${FAULTS}/redlock-outages.spec.ts`],
    ['holder-stalled', 'lost', 15_000, `${FAULTS}/redlock-outages.spec.ts`],
    ['one-killed', 'kept', 15_000, 'test/integration/redlock/majority.spec.ts'],
    ['two-killed', 'lost', 30_000, 'test/integration/redlock/majority.spec.ts'],
  ]),
];

function on(topology, rows) {
  return rows.map(([fault, hold, within, test]) => ({ topology, fault, hold, within, test }));
}
