import { channel } from 'node:diagnostics_channel';
import { Logger } from '@nestjs/common';
import { jest } from '@jest/globals';
import * as client from 'prom-client';
import { readFileSync } from 'node:fs';
import { context, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import type { LockTimeoutError, LockService } from 'nestjs-redis-locks';
import {
  structuredLogs,
  type StructuredLogOptions,
  prometheusMetrics,
  openTelemetryMetrics,
  openTelemetrySpans,
} from '../../../lib/observation/metrics/index.js';
import { aborted, expectHandoff, LockBench, eventually } from '../../../lab/testbed/locks/locks.js';
import { LOSS_REASONS } from '../../../lib/errors/index.js';
import { redisson } from '../../../lib/redisson/index.js';
import { MEASURES } from '../../../lib/observation/metrics/measures.js';
import { prometheusName } from '../../../lib/observation/metrics/prometheus-metrics.js';

const bench = new LockBench();
const stops: Array<() => unknown> = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

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
    await bench.redis.withoutMemory(async () => {
      for (const key of ['a', 'b', 'c']) {
        await expect(service.acquire(key, { pattern: 'x' })).rejects.toMatchObject({ code: 'LOCK_STORE' });
        await expect(service.tryAcquire(key, { pattern: 'y' })).rejects.toMatchObject({ code: 'LOCK_STORE' });
      }
    });
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

let registry: client.Registry;
let stop: () => void;

/** A call that Redis fails, because its memory is full. */
const failAt = (service: LockService): Promise<void> =>
  bench.redis.withoutMemory(() => expect(service.acquire('b')).rejects.toMatchObject({ code: 'LOCK_STORE' }));

/** A value by the name of its metric and the rest of its labels: `…_count{outcome}`. */
async function valueOf(name: string, outcome?: string, pattern = '(manual)'): Promise<number> {
  const label = outcome === undefined ? '' : `,lock_outcome="${outcome}"`;
  const line = `${name}{lock_instance="default",lock_pattern="${pattern}",lock_kind="exclusive"${label}} `;
  const found = (await registry.metrics()).split('\n').find((each) => each.startsWith(line));
  return Number(found?.slice(line.length) ?? 0);
}

describe('prometheusMetrics', () => {
  beforeEach(() => {
    registry = new client.Registry();
    stop = prometheusMetrics(client, { registry });
  });
  afterEach(() => stop());

  it('measures requests, waits, holds and handoffs', async () => {
    const [one, other] = await bench.pair();
    const { lock, waiting } = await bench.contended(one, other);
    expect(await valueOf('redis_lock_waiting')).toBe(1);
    expect(await valueOf('redis_lock_held')).toBe(1);
    await expectHandoff(lock, waiting);
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
    await failAt(service);
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
    await bench.redis.cutCommands();
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
    await service.run('b', () => service.run('b', () => undefined, { kind: 'read' }), { kind: 'write' });
    for (const line of await holds()) expect(line).toMatch(/ 0$/);
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
    await failAt(service);
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
    await eventually(async () => (await gauge('reachable')) === `redis_lock_reachable${ofInstance} 0`);
    await bench.redis.resume();
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

  it('has at most 200 patterns with a warning, and 229 series for each of them', async () => {
    const service = await bench.service();
    const warnings: string[] = [];
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation((text) => void warnings.push(String(text)));
    for (let i = 0; i < 205; i++) await service.run('a', () => undefined, { pattern: `user:${i}` });
    warn.mockRestore();
    expect(warnings).toEqual([expect.stringMatching(/more than 200 patterns; metrics count "user:\d+" and all later/)]);
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
    await expectHandoff(lock, waiting);
    expect(await valueOf('redis_lock_held')).toBe(0);
    expect(await valueOf('redis_lock_waiting')).toBe(0);
    stop();
    expect(await registry.metrics()).toBe('\n');
    stop = prometheusMetrics(client, { registry });
    expect(() => prometheusMetrics(client, { registry })).toThrow('call the function that it returned then');
  });

  it('has the metrics that the Grafana dashboard shows', () => {
    const dashboard = readFileSync(new URL('../../../docs/grafana-dashboard.json', import.meta.url), 'utf8');
    const shown = new Set(
      [...dashboard.matchAll(/redis_lock_\w+/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, '')),
    );
    expect([...shown].sort()).toEqual(Object.values(MEASURES).map(prometheusName).sort());
  });
});

describe('openTelemetryMetrics', () => {
  function measured(options?: Parameters<typeof openTelemetryMetrics>[1]) {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
    const provider = new MeterProvider({ readers: [reader] });
    stops.push(openTelemetryMetrics(provider.getMeter('locks'), options), () => provider.shutdown());
    return async () => {
      exporter.reset();
      await reader.forceFlush();
      const metrics = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((each) => each.metrics));
      return new Map(metrics.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints]));
    };
  }

  it('measures with a real meter', async () => {
    const collect = measured();
    const [one, other] = await bench.pair();
    const lock = await one.acquire('a', { pattern: 'x' });
    const waiting = other.acquire('a', { pattern: 'x' });
    await bench.untilWaiting('a', 1);
    await expectHandoff(lock, waiting);
    const found = await collect();
    const attributes = { 'lock.instance': 'default', 'lock.pattern': 'x', 'lock.kind': 'exclusive' };
    expect(found.get(MEASURES.handoffs.name)).toMatchObject([{ attributes, value: 1 }]);
    expect(found.get(MEASURES.held.name)).toMatchObject([{ attributes, value: 0 }]);
    expect(found.get(MEASURES.hold.name)).toMatchObject([
      { attributes: { ...attributes, 'lock.outcome': 'released' }, value: { count: 2 } },
    ]);
    expect(found.get(MEASURES.acquire.name)![0]!.value).toMatchObject({
      buckets: { boundaries: expect.arrayContaining([0.001]) },
    });
  });

  it('observes each instance, and leaves out a histogram that is off', async () => {
    const collect = measured({ buckets: { hold: false } });
    const service = await bench.service();
    await service.start();
    await service.acquire('a', { pattern: 'x' });
    const found = await collect();
    const attributes = { 'lock.instance': 'default' };
    expect(found.get('redis_lock.reachable')).toMatchObject([{ attributes, value: 1 }]);
    expect(found.get('redis_lock.subscribed')).toMatchObject([{ attributes, value: 1 }]);
    expect(found.get('redis_lock.watchdog.lag')).toMatchObject([{ attributes, value: 0 }]);
    expect(found.get('redis_lock.oldest_hold')).toMatchObject([{ attributes: { 'lock.pattern': 'x' } }]);
    await service.close();
    expect(found.has('redis_lock.acquire.duration')).toBe(true);
    expect((await collect()).has('redis_lock.hold.duration')).toBe(false);
  });
});

describe('openTelemetrySpans', () => {
  const manager = new AsyncLocalStorageContextManager();
  beforeAll(() => void context.setGlobalContextManager(manager.enable()));
  afterAll(() => context.disable());

  function traced(options?: { keys?: boolean }) {
    const exporter = new InMemorySpanExporter();
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
    const tracer = provider.getTracer('locks');
    stops.push(openTelemetrySpans(tracer, options), () => provider.shutdown());
    return { tracer, spans: () => exporter.getFinishedSpans() };
  }
  const facts = ({ name, attributes, status }: ReadableSpan) => [name, attributes['lock.outcome'], status.code];

  it("creates spans of acquiring and holding, as children of the caller's span", async () => {
    const { tracer, spans } = traced();
    const service = await bench.service();
    const parent = tracer.startSpan('request');
    await context.with(trace.setSpan(context.active(), parent), () =>
      service.run('a', () => service.run(['a', 'b'], () => undefined)),
    );
    parent.end();
    expect(spans().map(({ name }) => name)).toEqual([
      ...['lock acquire', 'lock acquire', 'lock hold', 'lock hold', 'request'],
    ]);
    const { spanId } = parent.spanContext();
    expect(
      spans()
        .slice(0, 4)
        .map((span) => span.parentSpanContext?.spanId),
    ).toEqual(Array(4).fill(spanId));
    expect(spans()[0]!.attributes).toEqual({
      'lock.instance': 'default',
      'lock.pattern': '(manual)',
      'lock.kind': 'exclusive',
      'lock.keys': ['a'],
      'lock.outcome': 'acquired',
    });
  });

  it('distinguishes errors from contended locks', async () => {
    const { spans } = traced();
    const service = await bench.service();
    const lock = await service.acquire('a');
    await service.tryAcquire('a');
    await service.acquire('a', { waitTimeout: 0 }).catch(() => undefined);
    await service.forceRelease('a');
    await lock.release();
    await failAt(service);
    // A shutdown is no failure of Redis.
    service.stopWaiting();
    await service.acquire('a').catch(() => undefined);
    expect(spans().map(facts)).toEqual([
      ['lock acquire', 'acquired', SpanStatusCode.UNSET],
      ['lock acquire', 'skipped', SpanStatusCode.UNSET],
      ['lock acquire', 'timeout', SpanStatusCode.UNSET],
      ['lock hold', 'lost', SpanStatusCode.ERROR],
      ['lock acquire', 'failed', SpanStatusCode.ERROR],
      ['lock acquire', 'aborted', SpanStatusCode.UNSET],
    ]);
  });

  it('names the holder of a call that timed out, with its token', async () => {
    const { spans } = traced();
    const [holder, caller] = [await bench.service({ label: 'orders:1' }), await bench.service()];
    const { fencingToken } = await holder.acquire('a');
    await eventually(async () => (await caller.inspect('a'))?.holders[0]?.label);
    // An error names the holder only if Redis answers in time.
    await eventually(async () => {
      const error = await caller.acquire('a', { waitTimeout: 0 }).catch((each: unknown) => each);
      return (error as LockTimeoutError).holder?.label;
    });
    const [first, last] = [spans()[0]!, spans().at(-1)!];
    expect(last.attributes).toMatchObject({
      ...{ 'lock.outcome': 'timeout', 'lock.holder': 'orders:1', 'lock.holder_token': String(fencingToken) },
    });
    expect(first.attributes).not.toHaveProperty('lock.holder');
  });

  it('tells of a handoff and of a loss, with the client that held the lock before', async () => {
    const { spans } = traced();
    const holder = await bench.service({ label: 'orders:1' });
    const waiter = await bench.service({ label: 'imports:2' });
    const lock = await holder.acquire('a', { pattern: 'x' });
    await eventually(async () => (await waiter.inspect('a'))?.holders[0]?.label);
    const waiting = waiter.acquire('a', { pattern: 'x' });
    await bench.untilWaiting('a', 1);
    await lock.release();
    const next = await waiting;
    await holder.forceRelease('a');
    await aborted(next.signal);
    await eventually(() => spans().length === 4);
    const previous = { 'lock.previous_holder': 'orders:1' };
    const about = (name: string, key: string, value: unknown) =>
      spans().filter((span) => span.name === name && span.attributes[key] === value);
    expect(about('lock acquire', 'lock.previous_holder', 'orders:1')).toMatchObject([
      { events: [{ name: 'lock handed off', attributes: previous }] },
    ]);
    expect(about('lock hold', 'lock.outcome', 'lost')).toMatchObject([
      {
        attributes: { ...previous, 'lock.pattern': 'x' },
        events: [{ name: 'lock lost', attributes: { 'lock.reason': expect.stringContaining('by force') } }],
      },
    ]);
    const [released] = about('lock hold', 'lock.outcome', 'released');
    expect(released!.attributes).not.toHaveProperty('lock.previous_holder');
  });

  it('leaves keys out of spans on request', async () => {
    const { spans } = traced({ keys: false });
    const service = await bench.service();
    await service.run('user:ann', () => undefined);
    expect(spans()).toHaveLength(2);
    expect(JSON.stringify(spans().map(({ attributes }) => attributes))).not.toContain('ann');
  });
});
