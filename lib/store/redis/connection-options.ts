import type { NatMap, RedisOptions } from 'ioredis';
import { LONGEST_TIMER } from '../../common/clock.js';
import type { ServerAddress } from './line.js';

/** How many ms ioredis waits for a connection to close. It waits so long even if the connection is closed already. */
export const LINGER = 100;

/**
 * After how many ms without an answer the client checks whether it talks to the right server, and how often it checks
 * then.
 */
export const DOUBT = 1_000;
export const DOUBT_AGAIN = 250;

/** Delay in ms before the next attempt to connect. */
export const retryDelay = (times: number): number => Math.min(50 * 2 ** Math.min(times - 1, 5), 1_000);

/**
 * After how many ms of silence a connection is closed. A connection can be dead although no end has closed it: for
 * example, a node was replaced behind its address. TCP alone takes a quarter of an hour to find out. The limit is
 * longer than two attempts of a request, because the leave that follows goes out on this connection. If only replies
 * are lost, the server still receives it.
 */
export const silenceLimit = (commandTimeout: number): number => Math.min(3 * commandTimeout, LONGEST_TIMER);

/**
 * After how many idle ms TCP probes the other end: soon enough to keep a NAT or a load balancer from dropping an idle
 * connection. ioredis 5 leaves this to the system, which mostly waits for two hours. ioredis 6 uses 30 s.
 */
export const KEEP_ALIVE = 10_000;

/** Options of lines. The user's options override them. */
export const OWN_OPTIONS: RedisOptions = {
  disconnectTimeout: LINGER,
  keepAlive: KEEP_ALIVE,
  // A server that loads its data estimates the rest in whole seconds, at least one. Mostly it is ready long before.
  maxLoadingRetryTime: 100,
};

/** What commands and replies need, whatever the user's options say. A line ends with its first failure. */
export const EXACT_OPTIONS: RedisOptions = {
  // The module has its own prefix.
  keyPrefix: '',
  enableAutoPipelining: false,
  enableOfflineQueue: true,
  lazyConnect: true,
  scripts: undefined,
  himportFieldsets: undefined,
  monitor: false,
  stringNumbers: false,
  replyMapping: 'legacy',
  // The module's commandTimeout limits the time.
  maxRetriesPerRequest: null,
  commandTimeout: undefined,
  blockingTimeout: undefined,
  readOnly: false,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  retryStrategy: null,
  reconnectOnError: undefined,
};

/** Maps the addresses that servers name to the ones at which they can be reached. */
export const mappedBy =
  (natMap: NatMap | undefined) =>
  (address: ServerAddress): ServerAddress => {
    const reported = `${address.host}:${address.port}`;
    const mapped = typeof natMap === 'function' ? natMap(reported) : natMap?.[reported];
    return mapped ? { ...address, ...mapped } : address;
  };
