import type { Redis } from 'ioredis';
import { answerUnless, isReply } from '../deployment/deployment.js';
import { ok, warning, type Finding } from './finding.js';

/** Messages of locks have a few hundred bytes. Some thousand of them fit into a buffer of this size. */
const SMALL_BUFFER = 2 ** 20;

/** Checks settings that disconnect clients. None if the user or the provider does not permit to read them. */
export async function checkConnections(client: Redis): Promise<Finding[]> {
  const settings = await readSettings(client);
  const [timeout, buffers] = [settings.get('timeout'), settings.get('client-output-buffer-limit')];
  return [
    ...(timeout === undefined ? [] : [checkIdleTimeout(Number(timeout))]),
    ...(buffers === undefined ? [] : [checkBuffers(buffers)]),
  ];
}

async function readSettings(client: Redis): Promise<ReadonlyMap<string, string>> {
  const settings = new Map<string, string>();
  // Before Redis 7, CONFIG GET takes one name.
  for (const name of ['timeout', 'client-output-buffer-limit']) {
    // NOPERM, which is a finding about permissions, or a provider without CONFIG.
    const [, value] = (await answerUnless(isReply, client.config('GET', name))) ?? [];
    if (value !== undefined) settings.set(name, value);
  }
  return settings;
}

export function checkIdleTimeout(seconds: number): Finding {
  const check = 'idle timeout';
  if (seconds === 0) return ok(check, 'none');
  return warning(
    check,
    `Redis closes connections that are idle for ${seconds} s, so the next call waits for a new connection`,
    'CONFIG SET timeout 0 (and in redis.conf); tcp-keepalive finds clients that are gone',
  );
}

/** `limits`: for each class of clients its name, the hard limit, the soft limit and its seconds. */
export function checkBuffers(limits: string): Finding {
  const check = 'output buffers';
  const words = limits.split(' ');
  const tight = ['normal', 'pubsub'].filter((name) => {
    const at = words.indexOf(name);
    return words.slice(at + 1, at + 3).some((bytes) => Number(bytes) > 0 && Number(bytes) < SMALL_BUFFER);
  });
  const limitsOf = (name: string) => words.slice(words.indexOf(name), words.indexOf(name) + 4).join(' ');
  if (tight.length === 0) return ok(check, `large enough (${limitsOf('pubsub')})`);
  return warning(
    check,
    `below 1 MiB (${tight.map(limitsOf).join(', ')}): Redis disconnects a client that reads slowly, and its waiters miss messages until it is back`,
    "CONFIG SET client-output-buffer-limit 'normal 0 0 0 pubsub 32mb 8mb 60' (the default)",
  );
}
