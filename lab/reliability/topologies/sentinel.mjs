import { startRedisSentinels } from '../../testbed/servers/redis-sentinels.mjs';
import { startLines } from './lines.mjs';
import { settings } from './server.mjs';

/** After how many ms without an answer a Sentinel takes a server for dead. */
export const DOWN_AFTER = 1_000;
const FAILOVER_TIMEOUT = 5_000;

/** A master, a replica, and three Sentinels. */
export async function start(installation, { downAfter = DOWN_AFTER, proxied = false } = {}) {
  const sentinels = await startRedisSentinels({
    sentinels: 3,
    downAfter,
    failoverTimeout: FAILOVER_TIMEOUT,
    server: settings(installation),
  });
  const lines = proxied ? await startLines(sentinels.servers) : undefined;
  return {
    connection: { ...sentinels.connection, ...(lines && { natMap: lines.natMap }) },
    deafenSubscribers: lines?.deafenSubscribers,
    servers: sentinels.servers,
    sentinels: sentinels.sentinels,
    serving: () => sentinels.master(),
    other: () => sentinels.replica(),
    failover: () => sentinels.askForFailover(),
    cutOff: () => sentinels.cutOff(),
    untilWhole: () => sentinels.untilWhole(),
    async stop() {
      await lines?.close();
      await sentinels.stop();
    },
  };
}
