// One client with very many keys: npm run bench:many-keys -- [--holds 10000] [--waiters 100000] [--callers 10000] [--cluster [--reshard]]
import { parseArgs } from 'node:util';
import { ensureAll } from '../scripts/setup.mjs';
import { runAsScript } from '../scripts/lib/run.mjs';
import { measureCallers } from './many-keys/callers.mjs';
import { measureHolds } from './many-keys/holds.mjs';
import { measureWaiters } from './many-keys/waiters.mjs';
import { OtherClient } from './many-keys/other-client.mjs';

const PARTS = { holds: measureHolds, waiters: measureWaiters, callers: measureCallers };

async function manyKeys() {
  const { values } = parseArgs({
    options: {
      holds: { type: 'string', default: '10000' },
      waiters: { type: 'string', default: '100000' },
      callers: { type: 'string', default: '10000' },
      cluster: { type: 'boolean', default: false },
      reshard: { type: 'boolean', default: false },
      'command-timeout': { type: 'string', default: '5000' },
    },
  });
  await ensureAll();
  const [{ startRedis }, { startRedisCluster }] = await Promise.all([
    import('../lab/testbed/servers/redis-server.mjs'),
    import('../lab/testbed/servers/redis-cluster.mjs'),
  ]);
  for (const [part, measure] of Object.entries(PARTS)) {
    const count = Number(values[part]);
    if (count === 0) continue;
    const isCluster = values.cluster;
    const server = isCluster ? await startRedisCluster() : await startRedis({ args: ['--appendonly', 'yes'] });
    const connection = isCluster ? { cluster: server.addresses } : { host: server.host, port: server.port };
    const other = new OtherClient(connection);
    try {
      await measure({
        server,
        connection,
        other,
        isCluster,
        reshards: isCluster && values.reshard,
        count,
        commandTimeout: Number(values['command-timeout']),
      });
    } finally {
      await other.close();
      await server.stop();
    }
  }
}

await runAsScript(manyKeys);
