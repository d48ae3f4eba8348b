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
    return describeLayouts(
      key,
      isOurs,
      objects.find(({ kind }) => kind !== undefined),
    );
  } catch (error) {
    const { message } = foreignError(error);
    return warning(SUBJECT, `'${key}' could not be read: ${message}`, `allow this user to read the key '${key}'`);
  }
}

function describeLayouts(key: string, isOurs: boolean, object: RedissonObject | undefined): Finding {
  const what = object === undefined ? '' : seen(object);
  if (object?.isCertain === false) {
    const ours = isOurs ? `'${key}' is used in the layout of this library. ` : '';
    return ok(SUBJECT, `${ours}In the layout of Redisson, '${key}' is ${what}`);
  }
  if (isOurs && object !== undefined) {
    return warning(
      SUBJECT,
      `'${key}' is used in the layout of this library and in that of Redisson, which do not exclude each other. In Redisson, it is ${what}`,
      'acquire both locks in each section, in the same order, until all services have moved (docs/redisson.md), or use one layout',
    );
  }
  if (object !== undefined) {
    return warning(
      SUBJECT,
      `'${key}' is used in the layout of Redisson only: an instance without protocol: redisson() does not see it. It is ${what}`,
      'write protocol: redisson() for the instance that uses this key (docs/redisson.md)',
    );
  }
  if (!isOurs) return ok(SUBJECT, `'${key}' is free, in the layout of this library and in that of Redisson`);
  return ok(
    SUBJECT,
    `'${key}' is used in the layout of this library only; if Java services use this key, write protocol: redisson()`,
  );
}

const seen = ({ kind, unknown }: RedissonObject): string =>
  `${kind}${unknown === undefined ? '' : `. The data in Redis do not show ${unknown}`}`;
