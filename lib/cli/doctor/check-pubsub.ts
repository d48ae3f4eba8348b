import { clientChannel } from '../../keys/index.js';
import { isRefusal } from '../deployment/deployment.js';
import { ok, problem, type Finding } from './finding.js';
import type { Trial } from './trial.js';

/** The error of a server without sharded pub/sub: Redis before 7. */
const UNKNOWN = /unknown command/i;

/**
 * Checks that a message arrives, and that the server sees the subscriber. Waiters need both.
 * @param kind what the commands and the event of sharded pub/sub have in front of their names
 */
export async function checkPubSub(trial: Trial, kind: '' | 's' = ''): Promise<Finding> {
  const { timeout, prefix, server } = trial;
  const { client } = server;
  const [check, census, channel] =
    kind === 's' ? ['sharded pub/sub', 'shardnumsub', trial.slotChannel] : ['pub/sub', 'numsub', trial.channel];
  const once = { maxRetriesPerRequest: 0, retryStrategy: () => null, commandTimeout: timeout };
  const listener = client.duplicate(once).on('error', () => undefined);
  try {
    const heard = new Promise<number>((resolve) => {
      listener.on(`${kind}message`, () => resolve(performance.now()));
    });
    await listener[`${kind}subscribe`](channel);
    const [, listeners] = (await client.call('PUBSUB', census, channel)) as [string, number];
    if (Number(listeners) === 0) {
      return problem(
        check,
        'the server does not count its subscribers',
        'connect commands and subscriptions to the same server, without a proxy that separates them',
      );
    }
    const sent = performance.now();
    await client[`${kind}publish`](channel, 'doctor');
    const took = await Promise.race([heard.then((at) => at - sent), within(timeout)]);
    // Locks unsubscribe from sharded channels only, and need no permission for the other ones.
    if (kind === 's') await listener.sunsubscribe(channel);
    if (took !== undefined) return ok(check, `a message took ${took.toFixed(1)} ms`);
    return problem(
      check,
      `no message arrived within ${timeout} ms`,
      'look for a firewall or proxy that drops or delays messages',
    );
  } catch (error) {
    const { message } = error as Error;
    if (kind === 's' && UNKNOWN.test(message))
      return ok(check, 'not supported before Redis 7: messages go over the cluster bus');
    const rules = `+${kind}subscribe ${kind === 's' ? '+sunsubscribe ' : ''}+${kind}publish +pubsub|${census}`;
    const advice = isRefusal(error)
      ? `permit the user to subscribe: ${rules} &${clientChannel(prefix, '*')}`
      : 'check whether the server accepts another connection, and whether a firewall or proxy drops its messages';
    return problem(check, message, advice);
  } finally {
    listener.disconnect();
  }
}

const within = (ms: number): Promise<undefined> =>
  new Promise((resolve) => setTimeout(() => resolve(undefined), ms).unref());
