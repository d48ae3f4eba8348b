import { pause } from '../../common/reading-timer.js';
import { gather } from './gather.js';
import { isAnswer } from './store-failure.js';

/**
 * How often, in ms, a heartbeat is sent on a subscriber connection, and by which part of that the interval varies at
 * random.
 */
const PERIOD = 4_000;
const JITTER = 0.2;
/** After how many ms without an answer the connection is in doubt. */
const DEADLINE = 2_000;
/** How many ms more the connection has, once a command has been answered. */
const GRACE = 500;
/** After how many ms the commands are tried again if they were not answered. */
const RETRY = 1_000;
/**
 * The argument of PING. If a slot has moved, ioredis 5 takes that message for the reply to its last command. It notices
 * the mix-up only if that command had an argument.
 */
export const HEARTBEAT = 'heartbeat';

/** A subscriber connection. */
export interface Watched {
  readonly isOver: boolean;
  /** Sends a PING on this connection. */
  ping(): Promise<unknown>;
  /** Sends a command to the same server on the connection for commands. */
  tryCommands(): Promise<unknown>;
}

/**
 * Detects a subscriber connection that no longer receives messages although no end has closed it: for example, because
 * a NAT, a load balancer or a sidecar has dropped it. Nothing else is sent on this connection, so TCP alone would never
 * find out. The connection counts as dead only if commands are answered in the meantime. If Redis itself is frozen,
 * reconnecting does not help.
 *
 * Resolves to `true` when the connection is dead, and to `false` once it is over.
 * @param opened settles when the server has answered the commands that a client sends when it connects
 */
export async function goesSilent(watched: Watched, opened: Promise<unknown>): Promise<boolean> {
  for (let answer = opened; await isAnswered(watched, answer); answer = watched.ping()) {
    await pause(PERIOD * (1 + JITTER * (2 * Math.random() - 1)));
    if (watched.isOver) break;
  }
  return !watched.isOver;
}

/** A refusal is an answer. Any other error comes with the end of the connection. */
async function isAnswered(watched: Watched, answer: Promise<unknown>): Promise<boolean> {
  const comesWithin = async (ms: number): Promise<boolean> => {
    const [come] = await gather([answer], ms, () => true);
    return come !== undefined || watched.isOver;
  };
  if (await comesWithin(DEADLINE)) return true;
  for (;;) {
    const sent = performance.now();
    const areAnswered = await watched.tryCommands().then(() => true, isAnswer);
    // If the network is slow, both connections are slow.
    if (await comesWithin(areAnswered ? Math.max(GRACE, performance.now() - sent) : RETRY)) return true;
    if (areAnswered) return false;
  }
}
