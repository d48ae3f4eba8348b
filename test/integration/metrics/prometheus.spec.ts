import * as client from 'prom-client';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { prometheusMetrics } from '../../../lib/observation/metrics/index.js';
import { MEASURES } from '../../../lib/observation/metrics/measures.js';
import { prometheusName } from '../../../lib/observation/metrics/prometheus-metrics.js';
import { eventually } from '../../../testbed/wait/eventually.mjs';
import { LockBench } from '../../../testbed/locks/locks.js';

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
  const line = `${name}{lock_instance="default",lock_pattern="${pattern}",lock_type="exclusive"${label}} `;
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

  it('has all counters at 0 from the first call on, so that the first loss is an increase', async () => {
    const service = await bench.service();
    await service.run('a', () => undefined, { pattern: 'first' });
    const text = await registry.metrics();
    for (const count of ['contended', 'handoffs', 'timeouts', 'skipped', 'renewals', 'lost']) {
      const labels = 'lock_instance="default",lock_pattern="first",lock_type="exclusive"';
      expect(text).toContain(`\nredis_lock_${count}_total{${labels}} 0\n`);
    }
  });

  it('measures timeouts, failures, aborts, renewals and losses', async () => {
    const service = await bench.service({ lockWatchdogTimeout: 1_200 });
    const lock = await service.acquire('a');
    expect(await service.tryAcquire('a')).toBeNull();
    await service.acquire('a', { waitTimeout: 0 }).catch(() => undefined);
    await service.acquire('a', { signal: AbortSignal.timeout(10) }).catch(() => undefined);
    await eventually(async () => (await valueOf('redis_lock_renewals_total')) >= 2);
    await service.forceRelease('a');
    await eventually(async () => (await valueOf('redis_lock_lost_total')) === 1);
    expect(lock.isHeld).toBe(false);
    service.stopWaiting();
    await service.acquire('a').catch(() => undefined);
    for (const outcome of ['timeout', 'skipped', 'aborted', 'failed']) {
      expect(await valueOf('redis_lock_acquire_duration_seconds_count', outcome)).toBe(1);
    }
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
