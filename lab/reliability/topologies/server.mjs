import { startRedis } from '../../testbed/servers/redis-server.mjs';

/** Commands of `admin` while the server is away are answered when it is back, soon. */
const ADMIN = { maxRetriesPerRequest: null, retryStrategy: () => 50 };

/** How all servers of a measurement are started: everything that they have acknowledged outlives the process. */
export const settings = (installation) => ({ installation, persistent: true, admin: ADMIN });

export const startServer = (installation, options) => startRedis({ ...settings(installation), ...options });
