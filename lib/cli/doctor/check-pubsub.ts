import type { Redis } from 'ioredis';
import { clientChannel } from '../../keys/index.js';
import { isRefusal } from '../session.js';
import { ok, problem, type Finding } from './finding.js';

const CHECK = 'pub/sub';

/** Tries whether a message comes across, and whether the server sees who listens: without either nobody is woken. */
export async function checkPubSub(client: Redis, prefix: string, id: string, timeout: number): Promise<Finding> {
  const channel = clientChannel(prefix, id);
  const listener = client.duplicate({ maxRetriesPerRequest: 0, retryStrategy: () => null, commandTimeout: timeout });
  listener.on('error', () => undefined);
  try {
    const heard = new Promise<number>((resolve) => {
      listener.on('message', () => resolve(performance.now()));
    });
    await listener.subscribe(channel);
    const [, listeners] = (await client.call('PUBSUB', 'NUMSUB', channel)) as [string, number];
    if (Number(listeners) === 0) {
      return problem(
        CHECK,
        'the server does not see who is subscribed to it',
        'connect commands and subscriptions to the same server, without a proxy that parts them',
      );
    }
    const sent = performance.now();
    await client.publish(channel, 'doctor');
    const took = await Promise.race([heard.then((at) => at - sent), after(timeout)]);
    if (took !== undefined) return ok(CHECK, `a message took ${took.toFixed(1)} ms`);
    return problem(CHECK, `no message came across within ${timeout} ms`, 'look for a proxy that holds messages back');
  } catch (error) {
    const { message } = error as Error;
    const advice = isRefusal(error)
      ? `let the user subscribe: +subscribe +publish +pubsub|numsub &${clientChannel(prefix, '*')}`
      : 'see whether a further connection can be made';
    return problem(CHECK, message, advice);
  } finally {
    listener.disconnect();
  }
}

const after = (ms: number): Promise<undefined> =>
  new Promise((resolve) => setTimeout(() => resolve(undefined), ms).unref());
