import { describe, expect, it } from '@jest/globals';
import type { LockInfo } from 'nestjs-redis-locks';
import { cli } from './cli.js';
import { LockBench } from '../../../testbed/locks/locks.js';

const bench = new LockBench();
const run = (...args: string[]) => cli(bench.redis.url, args);

/** Keys under the prefix that are no locks, with a TTL as all that a test leaves behind. */
async function writeForeign(): Promise<string[]> {
  const { admin } = bench.redis;
  await admin.set('lock:state:{text}', 'of another program', 'EX', 60);
  await admin.hset('lock:state:{hash}', 'of', 'another program');
  await admin.hset('lock:state:{mode}', 'x:1', `sideways ${Date.now() + 60_000} 1 1 owner`);
  await admin.hset('lock:state:{numbers}', 'x:1', `exclusive soon many never owner`);
  for (const key of ['hash', 'mode', 'numbers']) await admin.pexpire(`lock:state:{${key}}`, 60_000);
  return ['text', 'hash', 'mode', 'numbers'];
}

describe('foreign values under the prefix', () => {
  it('ls and watch show the locks, and name the skipped keys', async () => {
    const keys = await writeForeign();
    const service = await bench.service();
    await service.acquire('held');
    const [table, json] = await Promise.all([run('ls'), run('ls', '--json')]);
    expect(table).toMatchObject({ code: 0, stdout: expect.stringContaining('held') });
    expect((JSON.parse(json.stdout) as LockInfo[]).map(({ key }) => key)).toContain('held');
    for (const { stderr } of [table, json]) {
      expect(stderr).toContain('"text" is skipped');
      expect(stderr).toContain('WRONGTYPE');
    }
    for (const key of keys) {
      const { code, stderr } = await run('inspect', key);
      expect({ key, code: [0, 1, 3].includes(code!) }).toEqual({ key, code: true });
      expect(stderr).not.toMatch(/TypeError|RangeError|Cannot read|Invalid time/);
    }
  });

  it('foreign text is escaped, in text and in JSON', async () => {
    const evil = '\u001b]0;x\u0007\u009b31m\u007f\u202e\u2066\u200b';
    const { admin } = bench.redis;
    const field = `${evil}:1`;
    const hold = `exclusive ${Date.now() + 60_000} 1 ${Date.now()} ${evil.replace(/\s/g, '')}`;
    await admin.hset(`lock:state:{${evil}}`, field, hold);
    await admin.pexpire(`lock:state:{${evil}}`, 60_000);
    await admin.hset('lock:state:{plain}', field, hold);
    await admin.pexpire('lock:state:{plain}', 60_000);
    const outputs = await Promise.all([
      run('ls'),
      run('ls', '--json'),
      run('inspect', 'plain'),
      run('inspect', 'plain', '--json'),
      run('release', 'plain'),
      run('release', 'plain', '--json'),
    ]);
    for (const { stdout, stderr } of outputs) {
      expect(`${stdout}${stderr}`).not.toMatch(
        /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/,
      );
    }
    const [listed] = JSON.parse(outputs[1].stdout) as LockInfo[];
    expect(JSON.parse(outputs[3].stdout).holders[0].client).toBe(evil);
    expect(listed).toBeDefined();
  });
});
