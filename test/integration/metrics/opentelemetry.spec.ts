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
import { openTelemetryMetrics, openTelemetrySpans } from '../../../lib/observation/metrics/index.js';
import { MEASURES } from '../../../lib/observation/metrics/measures.js';
import { LockBench } from '../../../testbed/locks/locks.js';

const bench = new LockBench();
const stops: Array<() => unknown> = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

describe('openTelemetryMetrics', () => {
  function measured() {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
    const provider = new MeterProvider({ readers: [reader] });
    stops.push(openTelemetryMetrics(provider.getMeter('locks')), () => provider.shutdown());
    return async () => {
      await reader.forceFlush();
      const metrics = exporter
        .getMetrics()
        .at(-1)!
        .scopeMetrics.flatMap((scope) => scope.metrics);
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
    const attributes = { 'lock.instance': 'default', 'lock.pattern': 'x', 'lock.type': 'exclusive' };
    expect(found.get(MEASURES.handoffs.name)).toMatchObject([{ attributes, value: 1 }]);
    expect(found.get(MEASURES.held.name)).toMatchObject([{ attributes, value: 0 }]);
    expect(found.get(MEASURES.hold.name)).toMatchObject([
      { attributes: { ...attributes, 'lock.outcome': 'released' }, value: { count: 2 } },
    ]);
    expect(found.get(MEASURES.acquire.name)![0]!.value).toMatchObject({
      buckets: { boundaries: expect.arrayContaining([0.001]) },
    });
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
      'lock.type': 'exclusive',
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
    service.stopWaiting();
    await service.acquire('a').catch(() => undefined);
    expect(spans().map(facts)).toEqual([
      ['lock acquire', 'acquired', SpanStatusCode.UNSET],
      ['lock acquire', 'skipped', SpanStatusCode.UNSET],
      ['lock acquire', 'timeout', SpanStatusCode.UNSET],
      ['lock hold', 'lost', SpanStatusCode.ERROR],
      ['lock acquire', 'failed', SpanStatusCode.ERROR],
    ]);
  });

  it('leaves keys out of spans on request', async () => {
    const { spans } = traced({ keys: false });
    const service = await bench.service();
    await service.run('user:ann', () => undefined);
    expect(spans()).toHaveLength(2);
    expect(JSON.stringify(spans().map(({ attributes }) => attributes))).not.toContain('ann');
  });
});
