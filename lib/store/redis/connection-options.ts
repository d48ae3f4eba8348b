import type { NatMap } from 'ioredis';
import { LONGEST_TIMER } from '../../common/clock.js';
import type { ConnectionOptions } from './connection.js';
import type { ServerAddress } from './line.js';

/** What the library adds to the options of a client. */
export type OwnClientOptions = Pick<ConnectionOptions, 'commandTimeout' | 'label'>;

/** How many ms ioredis waits for a connection to close. It waits so long even if the connection is closed already. */
export const LINGER = 100;

/** Delay in ms before the next attempt to connect. */
export const retryDelay = (times: number): number => Math.min(50 * 2 ** Math.min(times - 1, 5), 1_000);

/**
 * After how many ms of silence a connection is closed. A connection can be dead although no end has closed it: for
 * example, a node was replaced behind its address. TCP alone takes a quarter of an hour to find out. The limit is
 * longer than two attempts of a request, because the leave that follows goes out on this connection. If only replies
 * are lost, the server still receives it.
 */
export const silenceLimit = (commandTimeout: number): number => Math.min(3 * commandTimeout, LONGEST_TIMER);

/** Maps the addresses that servers name to the ones at which they can be reached. */
export const mappedBy =
  (natMap: NatMap | undefined) =>
  (address: ServerAddress): ServerAddress => {
    const reported = `${address.host}:${address.port}`;
    const mapped = typeof natMap === 'function' ? natMap(reported) : natMap?.[reported];
    return mapped ? { ...address, ...mapped } : address;
  };
