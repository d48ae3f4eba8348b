import { startSentinelTrio } from '../../testbed/servers/sentinel-trio.mjs';
import { Server } from './server.mjs';

/** After how many ms without an answer a Sentinel takes a server for dead. */
export const DOWN_AFTER = 1_000;
const FAILOVER_TIMEOUT = 5_000;

/** A master, a replica, and three Sentinels. */
export async function start(installation, { downAfter = DOWN_AFTER } = {}) {
  const trio = await startSentinelTrio((options) => Server.start(installation, options), {
    downAfter,
    failoverTimeout: FAILOVER_TIMEOUT,
  });
  return {
    connection: trio.connection,
    servers: trio.servers,
    sentinels: trio.sentinels,
    serving: () => trio.master(),
    other: () => trio.replica(),
    failover: () => trio.failover(),
    cutOff: () => trio.cutOff(),
    untilWhole: () => trio.untilWhole(),
    stop: () => trio.stop(),
  };
}
