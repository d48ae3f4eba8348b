import type { Redis } from 'ioredis';
import { clientChannel } from '../../keys/index.js';
import { isRefusal } from '../deployment/deployment.js';
import { ok, problem, type Finding } from './finding.js';
import type { Trial } from './trial.js';

/** One of the two kinds of channels in Redis. */
interface Kind {
  readonly check: string;
  readonly event: 'message' | 'smessage';
  /** The subcommand of PUBSUB that counts subscribers. */
  readonly census: 'NUMSUB' | 'SHARDNUMSUB';
  readonly rules: string;
  subscribe(listener: Redis, channel: string): Promise<unknown>;
  unsubscribe(listener: Redis, channel: string): Promise<unknown>;
  publish(client: Redis, channel: string): Promise<unknown>;
}

const PLAIN: Kind = {
  ...{ check: 'pub/sub', event: 'message', census: 'NUMSUB' },
  rules: '+subscribe +publish +pubsub|numsub',
  subscribe: (listener, channel) => listener.subscribe(channel),
  // Locks never unsubscribe, and need no permission for it.
  unsubscribe: async () => undefined,
  publish: (client, channel) => client.publish(channel, 'doctor'),
};

const SHARDED: Kind = {
  ...{ check: 'sharded pub/sub', event: 'smessage', census: 'SHARDNUMSUB' },
  rules: '+ssubscribe +sunsubscribe +spublish +pubsub|shardnumsub',
  subscribe: (listener, channel) => listener.ssubscribe(channel),
  unsubscribe: (listener, channel) => listener.sunsubscribe(channel),
  publish: (client, channel) => client.spublish(channel, 'doctor'),
};

/** The error of a server without sharded pub/sub: Redis before 7. */
const UNKNOWN = /unknown command/i;

/** Checks that a message arrives, and that the server sees the subscriber. Waiters need both. */
export async function checkPubSub(trial: Trial): Promise<Finding> {
  return withListener(trial, (listener) => tryOut(PLAIN, trial, listener, trial.channel));
}

/** The same for sharded pub/sub, in a slot of a Cluster. */
export async function checkShardedPubSub(trial: Trial): Promise<Finding> {
  return withListener(trial, (listener) => tryOut(SHARDED, trial, listener, trial.slotChannel));
}

async function withListener<T>({ server, timeout }: Trial, use: (listener: Redis) => Promise<T>): Promise<T> {
  const once = { maxRetriesPerRequest: 0, retryStrategy: () => null, commandTimeout: timeout };
  const listener = server.client.duplicate(once);
  listener.on('error', () => undefined);
  try {
    return await use(listener);
  } finally {
    listener.disconnect();
  }
}

async function tryOut(kind: Kind, trial: Trial, listener: Redis, channel: string): Promise<Finding> {
  const { check, census } = kind;
  const { timeout, prefix, server } = trial;
  try {
    const heard = new Promise<number>((resolve) => {
      listener.on(kind.event, () => resolve(performance.now()));
    });
    await kind.subscribe(listener, channel);
    const [, listeners] = (await server.client.call('PUBSUB', census, channel)) as [string, number];
    if (Number(listeners) === 0) {
      return problem(
        check,
        'the server does not count its subscribers',
        'connect commands and subscriptions to the same server, without a proxy that separates them',
      );
    }
    const sent = performance.now();
    await kind.publish(server.client, channel);
    const took = await Promise.race([heard.then((at) => at - sent), within(timeout)]);
    await kind.unsubscribe(listener, channel);
    if (took !== undefined) return ok(check, `a message took ${took.toFixed(1)} ms`);
    return problem(
      check,
      `no message arrived within ${timeout} ms`,
      'look for a firewall or proxy that drops or delays messages',
    );
  } catch (error) {
    const { message } = error as Error;
    if (kind === SHARDED && UNKNOWN.test(message))
      return ok(check, 'not supported before Redis 7: messages go over the cluster bus');
    const advice = isRefusal(error)
      ? `permit the user to subscribe: ${kind.rules} &${clientChannel(prefix, '*')}`
      : 'check whether the server accepts another connection, and whether a firewall or proxy drops its messages';
    return problem(check, message, advice);
  }
}

const within = (ms: number): Promise<undefined> =>
  new Promise((resolve) => setTimeout(() => resolve(undefined), ms).unref());
