import { beforeAll, describe, expect, it } from '@jest/globals';
import type { LockState } from 'nestjs-redis-locks';
import { cli } from './cli.js';
import { FaultLocks } from '../../../lab/testbed/locks/fault-locks.js';
import { useSentinels } from '../../../lab/testbed/locks/fault-setups.js';
import type { RedisSentinels } from '../../../lab/testbed/servers/redis-sentinels.mjs';

let sentinels: RedisSentinels;
const locks = new FaultLocks();

useSentinels(locks, (started) => (sentinels = started));
beforeAll(async () => {
  for (const { admin } of sentinels.servers) await admin.config('SET', 'appendonly', 'yes');
});

const run = (...args: string[]) => cli(JSON.stringify(sentinels.connection), args);

describe('the command line program behind Sentinels', () => {
  it('shows and releases the locks of the master', async () => {
    const service = await locks.start(sentinels.connection);
    await service.acquire('a');
    const ls = await run('ls', '--json');
    expect((JSON.parse(ls.stdout) as LockState[]).map(({ key, holds }) => [key, holds])).toEqual([['a', 1]]);
    expect(await run('inspect', 'a')).toMatchObject({ code: 0, stdout: expect.stringContaining('1 holding') });
    const released = await run('release', 'a', '--force');
    expect(released).toMatchObject({ code: 0, stdout: expect.stringMatching(/^a was released by \S+@\S+, from /) });
  });

  it('reports that no Sentinel knows the master', async () => {
    const { code, stderr } = await cli(JSON.stringify({ ...sentinels.connection, name: 'other' }), ['ls', '-t', '1s']);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^nestjs-redis-locks: other: Redis failed: .*Sentinel/i)]);
  });
});
