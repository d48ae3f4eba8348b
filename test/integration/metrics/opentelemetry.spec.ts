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
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { LockTimeoutError } from 'nestjs-redis-locks';
import { openTelemetryMetrics, openTelemetrySpans } from '../../../lib/observation/metrics/index.js';
import { MEASURES } from '../../../lib/observation/metrics/measures.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { aborted, LockBench } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();
const stops: Array<() => unknown> = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
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
    const [one, other] = await bench.serviceList(2);
    const lock = await one!.acquire('a', { pattern: 'x' });
    const waiting = other!.acquire('a', { pattern: 'x' });
    await bench.untilWaiting('a', 1);
    await lock.release();
    await (await waiting).release();
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
    await bench.redis.admin.config('SET', 'maxmemory', '1');
    await service.acquire('b').catch(() => undefined);
    await bench.redis.admin.config('SET', 'maxmemory', '0');
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
