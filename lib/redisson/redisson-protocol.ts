import { LockConfigError } from '../errors/index.js';
import { Options, or, read } from '../options/option-readers.js';
import { describe } from '../common/describe.js';
import type { LockProtocol } from '../module/redis-lock.protocol.js';
import { isClusterTarget, type ConnectionTarget } from '../store/redis/connect.js';
import type { RedissonNameMapper } from './redisson-names.js';
import type { ShardedSubscriptionMode } from './redisson-scripts.js';
import { RedissonStore } from './redisson-store.js';

/** How the locks of an instance are kept in Redis. */
export interface RedissonOptions {
  /**
   * Turns a key into the name of the lock in Redis. Write it if the `Config` of Redisson has a `NameMapper`: the same as its
   * `map`. It has to return the same name for a key each time.
   * @defaultValue the key is the name
   */
  nameMapper?: RedissonNameMapper | undefined;
  /**
   * `true`: locks are `RFencedLock`s, whose tokens grow together with those of Redisson. They begin at about 1.8e15, so store
   * them in 64 bits. `false`: locks are `RLock`s, which have no tokens.
   * @defaultValue false
   */
  fenced?: boolean | undefined;
  /**
   * How messages are published in a Redis Cluster: the same as `ClusterServersConfig` of Redisson says. `'on'`: sharded.
   * `'off'`: plain. `'auto'`: sharded if the server answers `PUBSUB SHARDNUMSUB`.
   * @defaultValue 'auto', as in Redisson
   */
  shardedSubscriptionMode?: ShardedSubscriptionMode | undefined;
}

const OPTIONS = new Options({
  nameMapper: or(read.func<RedissonNameMapper>('a function such as (key) => `shop:${key}`'), (key: string) => key),
  fenced: or(read.flag, false),
  shardedSubscriptionMode: read.oneOf<ShardedSubscriptionMode>(['auto', 'on', 'off']),
});

/**
 * Keeps the locks of an instance as Redisson does, so that they exclude the `RLock`s of Java services and wake their waiters:
 *
 * ```ts
 * RedisLockModule.forRoot({ instance: 'java', connection, protocol: redisson() })
 * ```
 * @throws LockConfigError for an option that cannot be used
 */
export function redisson(options: RedissonOptions = {}): LockProtocol {
  const { nameMapper, fenced, shardedSubscriptionMode } = OPTIONS.read('redisson', options);
  return {
    name: 'redisson',
    createStore: ({ connection, keyPrefix, commandTimeout, renewedLease, logger }) => {
      const target = readTarget(connection);
      if (shardedSubscriptionMode === 'on' && !isClusterTarget(target)) {
        throw new LockConfigError(
          "shardedSubscriptionMode is 'on', and connection is no Redis Cluster: Redisson publishes on plain channels then. " +
            'Leave it out.',
        );
      }
      const mapped = (key: string): string => readName(nameMapper(key), key);
      const options = {
        connection: target,
        keyPrefix,
        commandTimeout,
        renewedLease,
        nameMapper: mapped,
        fenced,
        shardedSubscriptionMode,
      };
      return new RedissonStore(options, logger);
    },
  };
}

/** @throws LockConfigError for a connection that this protocol does not serve */
function readTarget(connection: unknown): ConnectionTarget {
  if (Array.isArray(connection)) {
    throw new LockConfigError(
      "protocol 'redisson' keeps locks on one server, with Sentinels or in a Cluster, and connection is a list of masters: name one.",
    );
  }
  return connection as ConnectionTarget;
}

/** @throws LockConfigError unless a name mapper has returned a name */
function readName(name: unknown, key: string): string {
  if (typeof name === 'string' && name !== '') return name;
  throw new LockConfigError(`nameMapper has returned ${describe(name)} for '${key}': it has to return a text.`);
}
