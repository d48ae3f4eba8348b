import type { Redis } from 'ioredis';
import { answerUnless, isReply } from '../deployment/deployment.js';
import { counted } from '../../service/party-names.js';

/** An owner in Redisson, or in an instance with its protocol: `uuid:threadId`. */
const OWNER = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}:\d/;
const WHOLE_NUMBER = /^-?\d{1,19}$/;

/** What the names of Redisson show about a key. */
export interface RedissonObject {
  /** The kind of object, with its values; `undefined`: nothing of Redisson has this name. */
  readonly kind?: string;
  /** What the data in Redis cannot show. */
  readonly unknown?: string;
  /** `false`: a number that any program may have written. */
  readonly isCertain: boolean;
}

const NOTHING: RedissonObject = { isCertain: false };

/** Reads which object of Redisson has this name. */
export async function readRedissonObject(client: Redis, key: string): Promise<RedissonObject> {
  const tagged = taggedBy(key);
  if ((await client.exists(`redisson_lock_queue:${tagged}`)) > 0) {
    return { kind: 'an RFairLock with waiters', isCertain: true };
  }
  const type = await client.type(key);
  if (type === 'hash') {
    const [, fields] = await client.hscan(key, '0', 'COUNT', 10);
    if (fields.some((field, i) => i % 2 === 0 && OWNER.test(field))) return { kind: kindOf(fields), isCertain: true };
  }
  const isExpirable = (await client.exists(`${tagged}:timeout`)) > 0;
  const value = type === 'string' ? await client.get(key) : null;
  if (!isExpirable) return value !== null && WHOLE_NUMBER.test(value) ? readNumber(client, key, value) : NOTHING;
  const kind = `a semaphore${value === null ? '' : ` with ${value} free permits`}`;
  return { kind, unknown: 'how many permits an RSemaphore has taken, and by which clients', isCertain: true };
}

/** Redisson adds braces, unless there is one. */
const taggedBy = (key: string): string => (key.includes('{') ? key : `{${key}}`);

const kindOf = (fields: readonly string[]): string =>
  fields.includes('mode') ? 'a held RReadWriteLock' : 'a held RLock, RFairLock or RFencedLock';

/** A number is a semaphore or a latch: only the channels of its waiters differ. */
async function readNumber(client: Redis, key: string, value: string): Promise<RedissonObject> {
  // The channel of a latch has braces in any case.
  const [permits, latch] = await Promise.all([
    listenersOf(client, `redisson_sc:${taggedBy(key)}`),
    listenersOf(client, `redisson_countdownlatch__channel__{${key}}`),
  ]);
  if (permits > 0) {
    const kind = `a semaphore with ${value} free permits, for which ${waiting(permits)}`;
    return { kind, unknown: 'how many permits are taken, and by which clients', isCertain: true };
  }
  if (latch > 0) {
    const kind = `an RCountDownLatch with the count ${value}, for which ${waiting(latch)}`;
    return { kind, unknown: 'which clients still have to count it down', isCertain: true };
  }
  // The count-down to 0 deletes a latch, and a latch has no TTL.
  const canBeLatch = Number(value) > 0 && (await client.pttl(key)) < 0;
  const choices = [
    `an RSemaphore with ${value} free permits`,
    ...(canBeLatch ? [`an RCountDownLatch with the count ${value}`] : []),
    'a number of another program',
  ];
  const who = canBeLatch
    ? 'which clients have taken permits or still have to count down'
    : 'which clients have taken permits';
  return {
    kind: choices.join(', or '),
    unknown: `which of them it is, because no client waits for it now, and ${who}`,
    isCertain: false,
  };
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
