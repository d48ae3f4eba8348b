import { LockConfigError } from '../errors/index.js';
import { busChannel, clientChannel, hashSlot } from '../keys/index.js';

/** Turns a key into the name of the object in Redisson, as a `NameMapper` of Redisson does with its `map`. */
export type RedissonNameMapper = (key: string) => string;

/** The names in Redis of one lock. */
export interface RedissonNames {
  /** The hash of the lock: the name itself. */
  readonly lock: string;
  /** Where the release of the last owner is published: of an `RLock`, an `RReadWriteLock` and a semaphore. */
  readonly channels: readonly [plain: string, shared: string, permits: string];
  /** The counter of an `RFencedLock`. */
  readonly token: string;
}

/** Names what Redisson derives from a name. It adds braces, unless the name has one. */
export const derivedName = (prefix: string, name: string): string =>
  name.includes('{') ? `${prefix}:${name}` : `${prefix}:{${name}}`;

const PERMITS_CHANNEL = 'redisson_sc';
const LATCH_CHANNEL = 'redisson_countdownlatch__channel__';

/** Whether messages of a channel say how many permits are free. */
export const isPermitsChannel = (channel: string): boolean => channel.startsWith(`${PERMITS_CHANNEL}:`);

/** The channel of an `RCountDownLatch`. Redisson always adds braces here. */
export const latchChannel = (latch: string): string => `${LATCH_CHANNEL}{${latch}}`;

/** Whether messages of a channel are about a latch. */
export const isLatchChannel = (channel: string): boolean => channel.startsWith(LATCH_CHANNEL);

/** Names the keys and the channel of a lock. */
export const namesOf = (lock: string): RedissonNames => ({
  lock,
  channels: [
    derivedName('redisson_lock__channel', lock),
    derivedName('redisson_rwlock', lock),
    derivedName(PERMITS_CHANNEL, lock),
  ],
  token: derivedName('redisson_lock_token', lock),
});

/**
 * The unlock latch of an acquisition. Redisson writes one for each `unlock()`, to recognise a repetition of it. Here it
 * stops an acquire that arrives after its release.
 */
export const latchOf = (lock: string, id: string): string => `${derivedName('redisson_unlock_latch', lock)}:${id}`;

/** Names what a client uses in Redis. */
export class RedissonNaming {
  constructor(
    private readonly nameMapper: RedissonNameMapper,
    private readonly keyPrefix: string,
    private readonly isCluster: boolean,
  ) {}

  /** @throws LockConfigError for a name that Redisson cannot use in a Cluster */
  lock(key: string): RedissonNames {
    const names = namesOf(this.nameMapper(key));
    if (this.isCluster) assertOneSlot(names.lock, names.channels[0]);
    return names;
  }

  /** @throws LockConfigError for a name that Redisson cannot use in a Cluster */
  latch(key: string): string {
    const { lock: name } = this.lock(key);
    if (this.isCluster) assertOneSlot(name, latchChannel(name));
    return name;
  }

  /** The channel of the client that an owner belongs to. Redisson has no such channel. */
  clientOf(owner: string): string {
    return (this.isCluster ? busChannel : clientChannel)(this.keyPrefix, owner.slice(0, owner.indexOf(':')));
  }
}

/** In a Cluster, scripts use an object together with the names that are derived from its name. */
function assertOneSlot(name: string, channel: string): void {
  if (hashSlot(name) === hashSlot(channel)) return;
  throw new LockConfigError(
    `'${name}' cannot be used with the protocol 'redisson' in a Redis Cluster: Redisson derives the name '${channel}' from it, ` +
      'which is in another hash slot. Choose a name without braces, or for a lock one with a hash tag, such as {stock}:42.',
  );
}
