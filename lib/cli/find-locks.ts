import type { Redis } from 'ioredis';
import { keyOfState, statePattern } from '../keys/index.js';
import type { LockInfo } from '../locks/lock-info.js';
import { storeFailure } from '../store/redis/store-failure.js';
import type { Session } from './session.js';

/** How many names one SCAN looks at, about. */
const AT_A_TIME = 500;
/** How many locks are asked about at once. */
const TOGETHER = 50;

/** All locks whose keys match, by key. SCAN lets the server serve others in between, which KEYS does not. */
export async function findLocks({ clients, locks, prefix }: Session, pattern = '*'): Promise<LockInfo[]> {
  const matches = matcher(pattern);
  const found = new Set<string>();
  const scans = await Promise.allSettled(
    clients.map((client) =>
      scan(client, prefix, (key) => {
        if (matches(key)) found.add(key);
      }),
    ),
  );
  const failures = scans.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
  if (2 * failures.length >= clients.length) throw storeFailure(failures[0]);
  const keys = [...found].sort();
  const infos: Array<LockInfo | null> = [];
  for (let i = 0; i < keys.length; i += TOGETHER) {
    infos.push(...(await Promise.all(keys.slice(i, i + TOGETHER).map((key) => locks.inspect(key)))));
  }
  // Some may have been released since.
  return infos.filter((info) => info !== null);
}

async function scan(client: Redis, prefix: string, tell: (key: string) => void): Promise<void> {
  let cursor = '0';
  do {
    const [next, names] = await client.scan(cursor, 'MATCH', statePattern(prefix), 'COUNT', AT_A_TIME);
    for (const name of names) {
      const key = keyOfState(prefix, name);
      if (key !== undefined) tell(key);
    }
    cursor = next;
  } while (cursor !== '0');
}

/** `*` stands for any text, everything else for itself. */
function matcher(pattern: string): (key: string) => boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  const expression = new RegExp(`^${parts.join('.*')}$`, 'su');
  return (key) => expression.test(key);
}
