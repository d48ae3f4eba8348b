import type { Redis } from 'ioredis';
import { answerUnless, isReply } from '../deployment/deployment.js';
import { about, type Finding, type Verdict } from './finding.js';

/** Messages of locks have a few hundred bytes. Some thousand of them fit into a buffer of this size. */
const SMALL_BUFFER = 2 ** 20;

/** Checks settings that disconnect clients. None if the user or the provider does not permit to read them. */
export async function checkConnections(client: Redis): Promise<Finding[]> {
  const findings: Finding[] = [];
  // Before Redis 7, CONFIG GET takes one name.
  for (const [setting, check, judge] of CHECKS) {
    // NOPERM, which is a finding about permissions, or a provider without CONFIG.
    const [, value] = (await answerUnless(isReply, client.config('GET', setting))) ?? [];
    if (value !== undefined) findings.push(about(check, judge(value)));
  }
  return findings;
}

const CHECKS: ReadonlyArray<readonly [setting: string, check: string, judge: (value: string) => Verdict]> = [
  ['timeout', 'idle timeout', judgeTimeout],
  ['client-output-buffer-limit', 'output buffers', judgeBuffers],
];

function judgeTimeout(seconds: string): Verdict {
  if (Number(seconds) === 0) return 'none';
  const found = `Redis closes connections that are idle for ${seconds} s, so the next call waits for a new connection`;
  const advice = 'CONFIG SET timeout 0 (and in redis.conf); tcp-keepalive finds clients that are gone';
  return { status: 'warning', found, advice };
}

/** `limits`: for each class of clients its name, the hard limit, the soft limit and its seconds. */
function judgeBuffers(limits: string): Verdict {
  const words = limits.split(' ');
  const tight = ['normal', 'pubsub'].filter((name) => {
    const at = words.indexOf(name);
    return words.slice(at + 1, at + 3).some((bytes) => Number(bytes) > 0 && Number(bytes) < SMALL_BUFFER);
  });
  const limitsOf = (name: string) => words.slice(words.indexOf(name), words.indexOf(name) + 4).join(' ');
  if (tight.length === 0) return `large enough (${limitsOf('pubsub')})`;
  return {
    status: 'warning',
    found: `below 1 MiB (${tight.map(limitsOf).join(', ')}): Redis disconnects a client that reads slowly, and its waiters miss messages until it is back`,
    advice: "CONFIG SET client-output-buffer-limit 'normal 0 0 0 pubsub 32mb 8mb 60' (the default)",
  };
}
