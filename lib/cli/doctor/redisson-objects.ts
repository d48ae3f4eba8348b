import type { Redis } from 'ioredis';
import { answerUnless, isReply } from '../deployment/deployment.js';
import { counted } from '../../service/party-names.js';

/** An owner in Redisson, or in an instance with its protocol: `uuid:threadId`. */
const OWNER = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}:\d/;
const WHOLE_NUMBER = /^-?\d{1,19}$/;

/** An object of Redisson, in words. */
export interface RedissonObject {
  /** Its kind and its values, and what the data in Redis cannot show. */
  readonly about: string;
  /** `false`: a number that any program may have written. */
  readonly isCertain: boolean;
}

const objectOf = (kind: string, unknown?: string, isCertain = true): RedissonObject => ({
  about: unknown === undefined ? kind : `${kind}. The data in Redis do not show ${unknown}`,
  isCertain,
});

/** Reads which object of Redisson has this name; `undefined`: none. */
export async function readRedissonObject(client: Redis, key: string): Promise<RedissonObject | undefined> {
  // Redisson adds braces, unless there is one.
  const tagged = key.includes('{') ? key : `{${key}}`;
  if ((await client.exists(`redisson_lock_queue:${tagged}`)) > 0) return objectOf('an RFairLock with waiters');
  const type = await client.type(key);
  if (type === 'hash') {
    const [, fields] = await client.hscan(key, '0', 'COUNT', 10);
    const isReadWrite = fields.includes('mode');
    if (fields.some((field, i) => i % 2 === 0 && OWNER.test(field)))
      return objectOf(isReadWrite ? 'a held RReadWriteLock' : 'a held RLock, RFairLock or RFencedLock');
  }
  const isExpirable = (await client.exists(`${tagged}:timeout`)) > 0;
  const value = type === 'string' ? await client.get(key) : null;
  if (isExpirable) {
    const free = value === null ? '' : ` with ${value} free permits`;
    return objectOf(`a semaphore${free}`, 'how many permits an RSemaphore has taken, and by which clients');
  }
  return value !== null && WHOLE_NUMBER.test(value) ? readNumber(client, key, tagged, value) : undefined;
}

/** A number is a semaphore or a latch: only the channels of its waiters differ. */
async function readNumber(client: Redis, key: string, tagged: string, value: string): Promise<RedissonObject> {
  // The channel of a latch has braces in any case.
  const [permits, latch] = await Promise.all([
    listenersOf(client, `redisson_sc:${tagged}`),
    listenersOf(client, `redisson_countdownlatch__channel__{${key}}`),
  ]);
  if (permits > 0) {
    const kind = `a semaphore with ${value} free permits, for which ${waiting(permits)}`;
    return objectOf(kind, 'how many permits are taken, and by which clients');
  }
  if (latch > 0) {
    const kind = `an RCountDownLatch with the count ${value}, for which ${waiting(latch)}`;
    return objectOf(kind, 'which clients still have to count it down');
  }
  // The count-down to 0 deletes a latch, and a latch has no TTL.
  const canBeLatch = Number(value) > 0 && (await client.pttl(key)) < 0;
  const choices = [
    `an RSemaphore with ${value} free permits`,
    ...(canBeLatch ? [`an RCountDownLatch with the count ${value}`] : []),
    'a number of another program',
  ];
  const who = `which clients have taken permits${canBeLatch ? ' or still have to count down' : ''}`;
  const unknown = `which of them it is, because no client waits for it now, and ${who}`;
  return objectOf(choices.join(', or '), unknown, false);
}

const waiting = (count: number): string => counted(count, 'client waits', 'clients wait');

/** How many connections listen on a channel at this server, plain or sharded. 0 if the user may not ask. */
async function listenersOf(client: Redis, channel: string): Promise<number> {
  let listeners = 0;
  for (const census of ['NUMSUB', 'SHARDNUMSUB']) {
    // Redis before 7 has no SHARDNUMSUB.
    const counts = await answerUnless(isReply, client.call('PUBSUB', census, channel));
    listeners += Number((counts as unknown[] | undefined)?.[1] ?? 0);
  }
  return listeners;
}
