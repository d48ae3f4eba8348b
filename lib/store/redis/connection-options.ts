import type { Redis, RedisOptions } from 'ioredis';

/** How many ms a closed connection may linger: ioredis waits so long also for one that is closed already. */
export const LINGER = 100;

/** How many ms an answer may take until it is doubted that the right server is asked, and how often that is looked into then. */
export const DOUBT = 1_000;
export const DOUBT_AGAIN = 500;

/** Node sets timers that are longer than this to 1 ms. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** After how many ms a connection that could not be made is tried again. */
export const retryDelay = (times: number): number => Math.min(50 * 2 ** Math.min(times - 1, 5), 1_000);

/**
 * A connection can be dead without anybody closing it: a node that was replaced behind its address. TCP alone needs a
 * quarter of an hour to find out. Not before a question that was asked twice has been given up: the leave that follows
 * goes out on this connection, and where only replies are lost it is heard.
 */
export const silenceLimit = (commandTimeout: number): number => Math.min(3 * commandTimeout, LONGEST_TIMER);

/**
 * After how many idle ms TCP asks whether the other end is still there: soon enough to be a sign of life for a NAT or a load
 * balancer that forgets what is idle. ioredis 5 leaves it to the system, which mostly waits for two hours; 6 says 30 s.
 */
export const KEEP_ALIVE = 10_000;

/** The same for what is made like another client, of the user's maybe: its own value counts, unless it is ioredis 5's for none. */
export const keepAliveLike = ({ options }: Redis): number | undefined =>
  options.keepAlive === 0 ? KEEP_ALIVE : options.keepAlive;

/** How connections of our own behave, unless the user's options say otherwise. */
export const OWN_OPTIONS: RedisOptions = {
  // A command waits for the connection; how long at most is commandTimeout's business.
  maxRetriesPerRequest: null,
  disconnectTimeout: LINGER,
  keepAlive: KEEP_ALIVE,
  retryStrategy: retryDelay,
  // A server that still loads its data guesses how many seconds that takes, one at least: mostly it is there long before.
  maxLoadingRetryTime: 100,
  // A master that has become a replica: reconnecting leads to the new one.
  // Redis 6.2 puts its own words before the error of a script.
  reconnectOnError: (error) => /\bREADONLY\b/.test(error.message),
};

/** After how many ms without an answer of any Sentinel all of them are asked again. */
export const SENTINEL_PATIENCE = 2_000;

/**
 * A Sentinel, or an old master, may be frozen or gone without a word: two seconds are enough to answer where the master is,
 * and to connect. ioredis would wait for ever for the one, and ten seconds for the other.
 */
export const SENTINEL_OPTIONS: RedisOptions = {
  sentinelCommandTimeout: SENTINEL_PATIENCE,
  connectTimeout: 2_000,
  sentinelRetryStrategy: retryDelay,
  sentinelReconnectStrategy: retryDelay,
  failoverDetector: true,
};

/** We subscribe ourselves, so as to know when the server has confirmed it. */
export const SUBSCRIBER_OPTIONS: RedisOptions = {
  autoResubscribe: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: null,
  disconnectTimeout: LINGER,
  lazyConnect: true,
  // It follows the connection for commands.
  failoverDetector: false,
  // Not those of a user's client: long silence is the rule here, and a SUBSCRIBE that was given up may be heard yet.
  commandTimeout: undefined,
  socketTimeout: undefined,
};

/** A WAIT that was given up must not be sent again behind another one. */
export const REPLICATION_OPTIONS: RedisOptions = {
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  disconnectTimeout: LINGER,
  lazyConnect: true,
  failoverDetector: false,
  commandTimeout: undefined,
  socketTimeout: undefined,
};
