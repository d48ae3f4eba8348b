import { channel } from 'node:diagnostics_channel';
import { Logger } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { structuredLogs, type StructuredLogOptions } from '../../../lib/observation/metrics/index.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { aborted, LockBench } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();
const stops: Array<() => void> = [];
afterEach(() => stops.splice(0).forEach((stop) => stop()));

function logged(options?: StructuredLogOptions) {
  const lines: Array<[level: string, line: object]> = [];
  const logger = {
    debug: (line: object) => void lines.push(['debug', line]),
    warn: (line: object) => void lines.push(['warn', line]),
  };
  stops.push(structuredLogs(logger, options));
  return lines;
}

describe('structuredLogs', () => {
  it('writes a line for each event, and warns of losses', async () => {
    const lines = logged();
    const service = await bench.service();
    const lock = await service.acquire('a', { pattern: 'x', owner: 'me' });
    await service.forceRelease('a');
    await aborted(lock.signal);
    // Observers are notified after the signal.
    await eventually(() => lines.length === 2);
    const { label } = service;
    const common = { instance: 'default', label, key: 'a', owner: 'me', kind: 'exclusive', pattern: 'x' };
    const { fencingToken } = lock;
    expect(lines).toEqual([
      ['debug', { event: 'lock.acquired', ...common, fencingToken, waited: expect.any(Number), contended: false }],
      [
        'warn',
        {
          ...{ event: 'lock.lost', ...common, fencingToken, held: expect.any(Number) },
          ...{ reason: expect.any(String), lossReason: 'forced', forcedBy: expect.any(String) },
        },
      ],
    ]);
  });

  it('warns of a timeout, with the process that waited and the holder', async () => {
    const holder = await bench.service({ label: 'orders:1' });
    const caller = await bench.service({ label: 'imports:2' });
    const { owner: holderId } = await holder.acquire('a');
    await eventually(async () => (await caller.inspect('a'))?.holders[0]?.label);
    const lines = logged({ types: ['timeout'] });
    await caller.acquire('a', { waitTimeout: 50, pattern: 'x' }).catch(() => undefined);
    const told = { instance: 'default', label: 'imports:2', key: 'a', kind: 'exclusive', pattern: 'x' };
    const waited: unknown = expect.any(Number);
    expect(lines).toEqual([['warn', { event: 'lock.timeout', ...told, holder: 'orders:1', holderId, waited }]]);
  });

  it('warns of each call that Redis fails, while the log has one line for each reason', async () => {
    const service = await bench.service();
    await service.start();
    const lines = logged({ types: ['failed'] });
    await bench.redis.admin.config('SET', 'maxmemory', '1');
    try {
      for (const key of ['a', 'b', 'c']) {
        await expect(service.acquire(key, { pattern: 'x' })).rejects.toMatchObject({ code: 'LOCK_STORE' });
        expect(await service.tryAcquire(key, { pattern: 'y' }).catch(({ code }: { code: string }) => code)).toBe(
          'LOCK_STORE',
        );
      }
    } finally {
      await bench.redis.admin.config('SET', 'maxmemory', '0');
    }
    const failed = { event: 'lock.failed', instance: 'default', kind: 'exclusive' };
    const reason: unknown = expect.stringContaining('out of memory');
    expect(lines).toHaveLength(6);
    expect(lines[0]).toEqual(['warn', { ...failed, keys: ['a'], pattern: 'x', reason }]);
    expect(bench.warnings.filter((line) => line.includes('out of memory'))).toEqual([
      expect.stringMatching(/^could not acquire 'a' for x: /),
      expect.stringMatching(/^could not acquire 'a' for y: /),
    ]);
  });

  it.each([
    ['debug', 0],
    ['warn', 3_500],
  ])('writes a renewal to %s if it was %s ms late', (level, late) => {
    const lines = logged();
    channel('nestjs-redis-locks:renewed').publish({ type: 'renewed', key: 'a', label: 'orders:1', renewals: 2, late });
    expect(lines).toEqual([[level, { event: 'lock.renewed', key: 'a', label: 'orders:1', renewals: 2, late }]]);
  });

  it('writes only the requested events, and nothing after it is stopped', async () => {
    const lines = logged({ types: ['released'] });
    const service = await bench.service();
    await service.run('a', () => undefined);
    stops.splice(0).forEach((stop) => stop());
    await service.run('a', () => undefined);
    expect(lines.map(([, line]) => line)).toMatchObject([{ event: 'lock.released' }]);
  });

  it('writes fencing tokens as they are, and times in whole microseconds', () => {
    const lines = logged();
    channel('nestjs-redis-locks:released').publish({ type: 'released', fencingToken: 1795331623844496, held: 1.23456 });
    expect(lines).toEqual([['debug', { event: 'lock.released', fencingToken: 1795331623844496, held: 1.235 }]]);
  });

  it("accepts Nest's logger", () => {
    stops.push(structuredLogs(new Logger('locks')));
  });
});
