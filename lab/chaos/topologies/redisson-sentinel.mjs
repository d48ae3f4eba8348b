import { MASTER_NAME } from '../../testbed/servers/redis-sentinels.mjs';
import { withJvms } from './redisson.mjs';
import { start as startSentinel } from './sentinel.mjs';

export { CLIENTS, prepare } from './redisson.mjs';

/** A master, its replica and a Sentinel for clients of both libraries; proxies before all three for each client. */
export async function start(options) {
  // Redisson may also use an old master that was killed and has restarted, until the Sentinel has made it a replica.
  const sentinel = await startSentinel({ ...options, restartedMasterServes: true });
  return withJvms(sentinel, 'redisson-sentinel', (client) => {
    const { sentinels, natMap } = sentinel.connectionOf(client);
    const addresses = sentinels.map(({ host, port }) => `redis://${host}:${port}`);
    return { kind: 'sentinel', addresses, detail: MASTER_NAME, proxies: natMap };
  });
}
