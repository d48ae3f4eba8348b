import { describe, expect, it } from '@jest/globals';
import type { LockState } from 'nestjs-redis-locks';
import { cli } from './cli.js';
import { LockBench } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();
const run = (...args: string[]) => cli(bench.redis.url, args);

/** Keys under the prefix that are no locks, with a TTL as all that a test leaves behind. */
async function writeForeign(): Promise<string[]> {
  const { admin } = bench.redis;
  await admin.set('lock:state:{text}', 'of another program', 'EX', 60);
  await admin.hset('lock:state:{hash}', 'of', 'another program');
  await admin.hset('lock:state:{mode}', 'x:1', `sideways held ${Date.now() + 60_000} 1 1 owner`);
  await admin.hset('lock:state:{numbers}', 'x:1', `exclusive held soon many never owner`);
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
    expect((JSON.parse(json.stdout) as LockState[]).map(({ key }) => key)).toContain('held');
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
    const hold = `exclusive held ${Date.now() + 60_000} 1 ${Date.now()} ${evil.replace(/\s/g, '')}`;
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
    const [listed] = JSON.parse(outputs[1].stdout) as LockState[];
    expect(JSON.parse(outputs[3].stdout).holders[0].client).toBe(evil);
    expect(listed).toBeDefined();
  });

  it('facts about a client are cut and escaped, and left out if they are no text', async () => {
    const service = await bench.service();
    const { admin } = bench.redis;
    const evil = 'orders\u001b]0;x\u0007\u009b31m\r\n\u202e';
    const records = {
      evil: { label: evil, sites: [[evil, evil]] },
      long: { label: 'x'.repeat(100_000), sites: [['y'.repeat(100_000), 'z'.repeat(100_000)]] },
      numbers: { label: 7, sites: [[1, 2]] },
      objects: { label: { toString: 1 }, sites: [{ length: 1e9 }] },
      none: null,
      list: [],
    };
    for (const [client, record] of Object.entries(records)) {
      await admin.set(`lock:client:${client}`, JSON.stringify(record), 'PX', 60_000);
      const hold = `exclusive held ${Date.now() + 60_000} 1 ${Date.now()} ${client}:1:0`;
      await admin.hset(`lock:state:{${client}}`, `${client}:1:0`, hold);
      await admin.pexpire(`lock:state:{${client}}`, 60_000);
    }
    const names = Object.keys(records);
    const outputs = await Promise.all([run('ls'), run('ls', '--json'), ...names.map((name) => run('inspect', name))]);
    for (const { code, stdout, stderr } of outputs) {
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout.length).toBeLessThan(20_000);
      expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    }
    for (const name of names) {
      const [holder] = (await service.inspect(name))!.holders;
      const { label = '', pattern = '', method = '' } = holder!;
      for (const text of [label, pattern, method]) expect(text).toMatch(/^[!-~]{0,1000}$/);
      const error = await service.acquire(name, { waitTimeout: 0 }).catch((thrown: Error) => thrown);
      expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', message: expect.stringMatching(/^[ -~]{1,3000}$/) });
    }
  });
});
