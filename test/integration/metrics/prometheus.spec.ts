import * as client from 'prom-client';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { LOSS_REASONS } from '../../../lib/errors/index.js';
import { prometheusMetrics } from '../../../lib/observation/metrics/index.js';
import { redisson } from '../../../lib/redisson/index.js';
import { MEASURES } from '../../../lib/observation/metrics/measures.js';
import { prometheusName } from '../../../lib/observation/metrics/prometheus-metrics.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { LockBench } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();
let registry: client.Registry;
let stop: () => void;

beforeEach(() => {
  registry = new client.Registry();
  stop = prometheusMetrics(client, { registry });
});
afterEach(() => stop());

/** A value by the name of its metric and the rest of its labels: `…_count{outcome}`. */
async function valueOf(name: string, outcome?: string, pattern = '(manual)'): Promise<number> {
  const label = outcome === undefined ? '' : `,lock_outcome="${outcome}"`;
  const line = `${name}{lock_instance="default",lock_pattern="${pattern}",lock_kind="exclusive"${label}} `;
  const found = (await registry.metrics()).split('\n').find((each) => each.startsWith(line));
  return Number(found?.slice(line.length) ?? 0);
}

describe('prometheusMetrics', () => {
  it('measures requests, waits, holds and handoffs', async () => {
    const [one, other] = await bench.serviceList(2);
    const lock = await one!.acquire('a');
    const waiting = other!.acquire('a');
    await bench.untilWaiting('a', 1);
    expect(await valueOf('redis_lock_waiting')).toBe(1);
    expect(await valueOf('redis_lock_held')).toBe(1);
    await lock.release();
    await (await waiting).release();
    expect(await valueOf('redis_lock_waiting')).toBe(0);
    expect(await valueOf('redis_lock_held')).toBe(0);
    expect(await valueOf('redis_lock_contended_total')).toBe(1);
    expect(await valueOf('redis_lock_handoffs_total')).toBe(1);
    expect(await valueOf('redis_lock_acquire_duration_seconds_count', 'acquired')).toBe(2);
    expect(await valueOf('redis_lock_wait_duration_seconds_count', 'acquired')).toBe(1);
    expect(await valueOf('redis_lock_hold_duration_seconds_count', 'released')).toBe(2);
    expect(await valueOf('redis_lock_hold_duration_seconds_sum', 'released')).toBeLessThan(5);
  });

  it('counts calls that Redis failed, and says when a lock was last acquired', async () => {
    const service = await bench.service();
    const before = Date.now() / 1_000;
    await service.run('a', () => undefined);
    const last = await valueOf('redis_lock_last_acquired_timestamp_seconds');
    expect(last).toBeGreaterThanOrEqual(before);
    expect(await valueOf('redis_lock_failed_total')).toBe(0);
    await bench.redis.admin.config('SET', 'maxmemory', '1');
    await expect(service.acquire('b')).rejects.toMatchObject({ code: 'LOCK_STORE' });
    await bench.redis.admin.config('SET', 'maxmemory', '0');
    expect(await valueOf('redis_lock_failed_total')).toBe(1);
    expect(await valueOf('redis_lock_last_acquired_timestamp_seconds')).toBe(last);
  });

  it('counts lost connections, and compares the clocks', async () => {
    const service = await bench.service();
    await service.start();
    const read = async (name: string): Promise<number> =>
      Number(new RegExp(`^${name}\\{lock_instance="default"\\} (.*)$`, 'm').exec(await registry.metrics())?.[1]);
    expect(await read('redis_lock_disconnects_total')).toBe(0);
    expect(Math.abs(await read('redis_lock_clock_ahead_seconds'))).toBeLessThan(10);
    await bench.redis.admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await eventually(async () => (await read('redis_lock_disconnects_total')) > 0);
    expect(await registry.metrics()).toContain('# TYPE redis_lock_disconnects_total counter');
  });

  it('counts each hold, also where holds have no token', async () => {
    const service = await bench.service({ protocol: redisson() });
    const holds = async (): Promise<string[]> =>
      (await registry.metrics()).split('\n').filter((line) => line.startsWith('redis_lock_held{'));
    for (let round = 0; round < 2; round++) {
      const readers = [await service.acquire('a', { kind: 'read' }), await service.acquire('a', { kind: 'read' })];
      expect(await holds()).toEqual([expect.stringMatching(/lock_kind="read"\} 2$/)]);
      for (const reader of readers) await reader.release();
      expect(await holds()).toEqual([expect.stringMatching(/lock_kind="read"\} 0$/)]);
    }
  });

  it('has all counters at 0 from the first call on, so that the first loss is an increase', async () => {
    const service = await bench.service();
    await service.run('a', () => undefined, { pattern: 'first' });
    const text = await registry.metrics();
    for (const count of ['contended', 'handoffs', 'timeouts', 'failed', 'skipped', 'renewals']) {
      const labels = 'lock_instance="default",lock_pattern="first",lock_kind="exclusive"';
      expect(text).toContain(`\nredis_lock_${count}_total{${labels}} 0\n`);
    }
    const reasons = [...text.matchAll(/^redis_lock_lost_total\{.*"first".*lock_loss_reason="(.*)"\} 0$/gm)];
    expect(reasons.map(([, reason]) => reason)).toEqual(Object.keys(LOSS_REASONS));
  });

  it('warns once of patterns that it counts together, since a pattern seems to contain an id', async () => {
    const service = await bench.service();
    const warnings: string[] = [];
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation((text) => void warnings.push(String(text)));
    for (let i = 0; i < 203; i++) await service.run('a', () => undefined, { pattern: `order:${i}` });
    warn.mockRestore();
    expect(warnings).toEqual([
      expect.stringMatching(/more than 200 patterns; metrics count "order:\d+" and all later/),
    ]);
    expect(await registry.metrics()).toContain('lock_pattern="(other)"');
  });

  it('measures timeouts, failures, aborts, renewals and losses', async () => {
    const service = await bench.service({ renewedLease: 1_200 });
    const lock = await service.acquire('a');
    expect(await service.tryAcquire('a')).toBeNull();
    await service.acquire('a', { waitTimeout: 0 }).catch(() => undefined);
    await service.acquire('a', { signal: AbortSignal.timeout(10) }).catch(() => undefined);
    await eventually(async () => (await valueOf('redis_lock_renewals_total')) >= 2);
    await service.forceRelease('a');
    const forced = /^redis_lock_lost_total\{.*lock_loss_reason="forced"\} 1$/m;
    await eventually(async () => forced.test(await registry.metrics()));
    expect(lock.isHeld).toBe(false);
    await bench.redis.admin.config('SET', 'maxmemory', '1');
    await service.acquire('b').catch(() => undefined);
    await bench.redis.admin.config('SET', 'maxmemory', '0');
    // A shutdown is no failure of Redis.
    service.stopWaiting();
    await service.acquire('a').catch(() => undefined);
    for (const [outcome, count] of Object.entries({ timeout: 1, skipped: 1, failed: 1, aborted: 2 })) {
      expect(await valueOf('redis_lock_acquire_duration_seconds_count', outcome)).toBe(count);
    }
    expect(await valueOf('redis_lock_failed_total')).toBe(1);
    expect(await valueOf('redis_lock_timeouts_total')).toBe(1);
    expect(await valueOf('redis_lock_skipped_total')).toBe(1);
    expect(await valueOf('redis_lock_wait_duration_seconds_count', 'timeout')).toBe(1);
    expect(await valueOf('redis_lock_wait_duration_seconds_count', 'skipped')).toBe(1);
    expect(await valueOf('redis_lock_hold_duration_seconds_count', 'lost')).toBe(1);
    expect(await valueOf('redis_lock_held')).toBe(0);
    expect(await valueOf('redis_lock_waiting')).toBe(0);
  });

  it('has the pattern of the call as a label, and not the key', async () => {
    const service = await bench.service();
    for (const id of ['ann', 'bob']) await service.run(`user:${id}`, () => undefined, { pattern: 'user:*' });
    expect(await valueOf('redis_lock_hold_duration_seconds_count', 'released', 'user:*')).toBe(2);
    expect(await registry.metrics()).not.toMatch(/ann|bob/);
  });

  it('has gauges of each instance before anything is held, and the age of the oldest hold after that', async () => {
    const service = await bench.service({ commandTimeout: 500 });
    await service.start();
    const gauge = async (name: string) =>
      (await registry.metrics()).split('\n').find((each) => each.startsWith(`redis_lock_${name}{`));
    const ofInstance = '{lock_instance="default"}';
    expect(await gauge('reachable')).toBe(`redis_lock_reachable${ofInstance} 1`);
    expect(await gauge('subscribed')).toBe(`redis_lock_subscribed${ofInstance} 1`);
    expect(await gauge('watchdog_lag_seconds')).toBe(`redis_lock_watchdog_lag_seconds${ofInstance} 0`);
    expect(await gauge('oldest_hold_seconds')).toBeUndefined();
    const first = await service.acquire('a', { pattern: 'p' });
    await service.acquire('b', { pattern: 'p' });
    const age = async () => Number((await gauge('oldest_hold_seconds'))!.split(' ').at(-1));
    await eventually(async () => (await age()) > 0.1);
    expect((await gauge('oldest_hold_seconds'))!).toContain('lock_pattern="p",lock_kind="exclusive"');
    await first.release();
    await bench.redis.pause();
    try {
      await eventually(async () => (await gauge('reachable')) === `redis_lock_reachable${ofInstance} 0`);
    } finally {
      await bench.redis.resume();
    }
    await eventually(async () => (await gauge('reachable')) === `redis_lock_reachable${ofInstance} 1`);
    await service.close();
    expect(await gauge('reachable')).toBeUndefined();
  });

  it('takes buckets for each histogram, and leaves out histograms that are off', async () => {
    stop();
    stop = prometheusMetrics(client, { registry, buckets: { acquire: [0.5, 7], wait: false } });
    const service = await bench.service();
    await service.run('a', () => undefined);
    const text = await registry.metrics();
    const bounds = (name: string) =>
      [...text.matchAll(new RegExp(`redis_lock_${name}_duration_seconds_bucket\\{le="([^"]+)"`, 'g'))].map(
        ([, le]) => le,
      );
    expect(bounds('acquire')).toEqual(['0.5', '7', '+Inf']);
    expect(bounds('hold')).toHaveLength(18);
    expect(text).not.toContain('redis_lock_wait_duration');
    for (const buckets of [{ waits: false }, { wait: [2, 1] }, { wait: true }, [], 'x'])
      expect(() => prometheusMetrics(client, { registry, buckets: buckets as never })).toThrow(/buckets/);
  });

  it('has at most 200 patterns, and 229 series for each of them', async () => {
    const service = await bench.service();
    for (let i = 0; i < 205; i++) await service.run('a', () => undefined, { pattern: `user:${i}` });
    const text = await registry.metrics();
    const patterns = new Set([...text.matchAll(/lock_pattern="([^"]+)"/g)].map(([, pattern]) => pattern));
    expect(patterns.size).toBe(201);
    expect(text).toContain('lock_pattern="(other)"');
    expect(await valueOf('redis_lock_hold_duration_seconds_count', 'released', '(other)')).toBe(5);
    // 17 bounds, +Inf, sum and count for each outcome: 5 + 3 + 3. Then 6 counters, 7 reasons of a loss and 3 gauges.
    const bound = (5 + 3 + 3) * (17 + 3) + 6 + 7 + 3;
    const lines = text.split('\n').filter((line) => line.includes('lock_pattern="user:7"'));
    expect(bound).toBe(236);
    expect(lines.length).toBeLessThanOrEqual(bound);
  });

  it('does not count the end of a lock that began earlier, and stops on request', async () => {
    stop();
    const service = await bench.service();
    const lock = await service.acquire('a');
    const waiting = service.acquire('a');
    stop = prometheusMetrics(client, { registry });
    await lock.release();
    await (await waiting).release();
    expect(await valueOf('redis_lock_held')).toBe(0);
    expect(await valueOf('redis_lock_waiting')).toBe(0);
    stop();
    expect(await registry.metrics()).toBe('\n');
    stop = prometheusMetrics(client, { registry });
  });

  it('has the metrics that the Grafana dashboard shows', () => {
    const dashboard = readFileSync(new URL('../../../docs/grafana-dashboard.json', import.meta.url), 'utf8');
    const shown = new Set(
      [...dashboard.matchAll(/redis_lock_\w+/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, '')),
    );
    expect([...shown].sort()).toEqual(Object.values(MEASURES).map(prometheusName).sort());
  });
});
