import type { Redis } from 'ioredis';
import { foreignError } from '../../store/redis/foreign-error.js';
import { redisKeys } from '../../keys/index.js';
import type { Session } from '../session.js';
import { ok, warning, type Finding } from './finding.js';

/** An owner in Redisson, or in an instance with its protocol: `uuid:threadId`. */
const OWNER = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}:\d/;
const SUBJECT = 'layout';

/** Looks for a key in the layout of this library and in that of Redisson. Locks in one do not exclude locks in the other. */
export async function checkLayout({ deployment, prefix }: Session, key: string): Promise<Finding> {
  try {
    const servers = deployment.servers().filter((server) => server.serves(key));
    const states = servers.map(({ client }) => client.exists(redisKeys(prefix, key).state));
    const isOurs = (await Promise.all(states)).includes(1);
    const isRedissons = (await Promise.all(servers.map(({ client }) => usesRedisson(client, key)))).includes(true);
    return describeLayouts(key, isOurs, isRedissons);
  } catch (error) {
    const { message } = foreignError(error);
    return warning(SUBJECT, `'${key}' could not be read: ${message}`, `allow this user to read the key '${key}'`);
  }
}

function describeLayouts(key: string, isOurs: boolean, isRedissons: boolean): Finding {
  if (isOurs && isRedissons) {
    return warning(
      SUBJECT,
      `'${key}' is used in the layout of this library and in that of Redisson, which do not exclude each other`,
      'acquire both locks in each section, in the same order, until all services have moved (docs/redisson.md), or use one layout',
    );
  }
  if (isRedissons) {
    return warning(
      SUBJECT,
      `'${key}' is used in the layout of Redisson only: an instance without protocol: redisson() does not see this lock`,
      'write protocol: redisson() for the instance that uses this key (docs/redisson.md)',
    );
  }
  if (!isOurs) return ok(SUBJECT, `'${key}' is free, in the layout of this library and in that of Redisson`);
  return ok(
    SUBJECT,
    `'${key}' is used in the layout of this library only; if Java services use this key, write protocol: redisson()`,
  );
}

/** Whether a lock or a semaphore of Redisson has this name: a hash of owners, a queue of waiters, or permits with leases. */
async function usesRedisson(client: Redis, key: string): Promise<boolean> {
  if ((await client.type(key)) === 'hash') {
    const [, fields] = await client.hscan(key, '0', 'COUNT', 10);
    if (fields.some((field, i) => i % 2 === 0 && OWNER.test(field))) return true;
  }
  // Redisson adds braces, unless there is one.
  const tagged = key.includes('{') ? key : `{${key}}`;
  return (await client.exists(`redisson_lock_queue:${tagged}`, `${tagged}:timeout`)) > 0;
}
