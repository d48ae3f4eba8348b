import { isLockConfigError } from '../../errors/index.js';
import type { LockService } from '../../service/lock.service.js';
import type { Session } from '../session.js';
import { ok, problem, warning, type Finding } from './finding.js';

/** The lease of the trial lock, in case this process ends before the release, and the time that Redis has to grant it. */
const LEASE = 5_000;

/** Acquires and releases a lock of its own, as a service does. */
export async function checkLocking({ locks }: Session, id: string): Promise<Finding> {
  const since = performance.now();
  try {
    const lock = await locks.acquire(`doctor:${id}`, { expire: LEASE, waitTimeout: LEASE });
    const taken = performance.now();
    const held = await lock.release();
    if (!held)
      return problem('a lock', 'the lock disappeared before its release', 'find out what deletes or evicts keys');
    const [taking, giving] = [taken - since, performance.now() - taken];
    return ok('a lock', `acquired in ${taking.toFixed(1)} ms, released in ${giving.toFixed(1)} ms`);
  } catch (error) {
    return problem('a lock', `could not be acquired: ${(error as Error).message}`, 'see the other findings');
  }
}

const TERMS = { expire: LEASE, waitTimeout: LEASE } as const;
const done = (): void => undefined;

/** What services do besides, on keys in several slots. */
const FEATURES: Readonly<Record<string, (locks: LockService, key: string) => Promise<unknown>>> = {
  'several keys': (locks, key) => locks.run([key, `${key}:2`], done, TERMS),
  async 'readers and permits'(locks, key) {
    await locks.run(key, done, { ...TERMS, kind: 'read' });
    await locks.run(`${key}:3`, done, { ...TERMS, permits: 2 });
  },
  async latches(locks, key) {
    const latch = locks.getCountDownLatch(key);
    await latch.trySetCount(2, { expire: LEASE });
    await latch.countDown();
    await latch.delete();
  },
  lists: (locks) => locks.list().next(),
};
/** Some applications do without these. */
const OPTIONAL: readonly string[] = ['replicas', 'lists'];

/** Uses each feature once, and says which ones work. `found`: what the checks of the servers have found. */
export async function checkFeatures(
  { locks, deployment }: Session,
  id: string,
  found: readonly Finding[],
): Promise<Finding> {
  const failures = new Map<string, string>();
  const works: string[] = [];
  const note = async (name: string, use: () => Promise<unknown>): Promise<void> => {
    try {
      await use();
      works.push(name);
    } catch (error) {
      // Redlock has no latches.
      if (!isLockConfigError(error)) failures.set(name, (error as Error).message);
    }
  };
  const isSilent = found.some(
    ({ status, check, found }) => status === 'problem' && (/\bpub\/sub$/.test(check) || /no messages/.test(found)),
  );
  if (!isSilent) works.push('contended locks');
  else failures.set('contended locks', 'waiters receive no messages, and retry every 3 s');
  for (const [name, use] of Object.entries(FEATURES)) await note(name, () => use(locks, `doctor:${id}`));
  const servers = deployment.kind === 'redlock' ? [] : deployment.servers();
  if (servers.length > 0)
    await note('replicas', () => Promise.all(servers.map(({ client }) => client.call('WAIT', '0', '1'))));
  if (failures.size === 0) return ok('features', `${works.join(', ')} work`);
  const named = [...failures].map(([name, why]) => `${name} (${why})`).join(', ');
  const find = [...failures.keys()].every((name) => OPTIONAL.includes(name)) ? warning : problem;
  const others = works.length === 0 ? '' : `. These work: ${works.join(', ')}`;
  return find('features', `these do not work as they should: ${named}${others}`, 'see the other findings');
}
