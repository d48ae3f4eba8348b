import { startRedis } from '../../testbed/servers/redis-server.mjs';

/** What `admin` is asked while the server is away is answered when that is back, soon. */
const ADMIN = { maxRetriesPerRequest: null, retryStrategy: () => 50 };

/** How all servers of a measurement are started: everything that they have acknowledged outlives the process. */
export const settings = (installation) => ({ installation, persistent: true, admin: ADMIN });

export const startServer = (installation, options) => startRedis({ ...settings(installation), ...options });
