import { foreignError } from '../../store/redis/foreign-error.js';
import { latchKeys, redisKeys } from '../../keys/index.js';
import type { Session } from '../session.js';
import { ok, warning, type Finding } from './finding.js';
import { readRedissonObject, type RedissonObject } from './redisson-objects.js';

const SUBJECT = 'layout';

/** Looks for a key in the layout of this library and in that of Redisson. Locks in one do not exclude locks in the other. */
export async function checkLayout({ deployment, prefix }: Session, key: string): Promise<Finding> {
  try {
    const servers = deployment.servers().filter((server) => server.serves(key));
    const keys = [redisKeys(prefix, key).state, latchKeys(prefix, key).latch];
    const counts = await Promise.all(servers.map(({ client }) => client.exists(keys)));
    const isOurs = counts.some((count) => count > 0);
    const objects = await Promise.all(servers.map(({ client }) => readRedissonObject(client, key)));
    const [object] = objects.filter((each) => each !== undefined);
    return describeLayouts(key, isOurs, object);
  } catch (error) {
    const { message } = foreignError(error);
    return warning(SUBJECT, `'${key}' could not be read: ${message}`, `allow this user to read the key '${key}'`);
  }
}

function describeLayouts(key: string, isOurs: boolean, object: RedissonObject | undefined): Finding {
  if (object === undefined) {
    const use = isOurs
      ? 'used in the layout of this library only; if Java services use this key, write protocol: redisson()'
      : 'free, in the layout of this library and in that of Redisson';
    return ok(SUBJECT, `'${key}' is ${use}`);
  }
  const { about, isCertain } = object;
  if (!isCertain) {
    const ours = isOurs ? `'${key}' is used in the layout of this library. ` : '';
    return ok(SUBJECT, `${ours}In the layout of Redisson, '${key}' is ${about}`);
  }
  const [found, advice] = isOurs
    ? [
        `of this library and in that of Redisson, which do not exclude each other. In Redisson, it is ${about}`,
        'acquire both locks in each section, in the same order, until all services have moved (docs/redisson.md), or use one layout',
      ]
    : [
        `of Redisson only: an instance without protocol: redisson() does not see it. It is ${about}`,
        'write protocol: redisson() for the instance that uses this key (docs/redisson.md)',
      ];
  return warning(SUBJECT, `'${key}' is used in the layout ${found}`, advice);
}
