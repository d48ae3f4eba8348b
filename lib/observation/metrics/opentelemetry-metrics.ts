import { Options, or, read } from '../../options/option-readers.js';
import { measureLocks } from './measure-locks.js';
import { EVERY_BUCKET, readBuckets, type Labels, type LockBuckets } from './measures.js';

/** The methods of a meter that are used: `Meter` of `@opentelemetry/api` has them. */
export interface LockMeter {
  createHistogram(name: string, options?: LockMetricOptions): { record(value: number, attributes?: Labels): void };
  createCounter(name: string, options?: LockMetricOptions): { add(value: number, attributes?: Labels): void };
  createUpDownCounter(name: string, options?: LockMetricOptions): { add(value: number, attributes?: Labels): void };
  createObservableGauge(name: string, options?: LockMetricOptions): LockGauge;
  createObservableCounter(name: string, options?: LockMetricOptions): LockGauge;
}

/** The methods of an observable gauge or counter that are used. */
export interface LockGauge {
  addCallback(callback: LockGaugeCallback): void;
  removeCallback(callback: LockGaugeCallback): void;
}

/** Observes the values of a gauge when the metrics are collected. */
export type LockGaugeCallback = (result: { observe(value: number, attributes?: Labels): void }) => Promise<void>;

/** The options of `openTelemetryMetrics`. */
export interface LockMeterOptions {
  /** As in `PrometheusOptions`. */
  buckets?: LockBuckets | undefined;
}

/** The options of a metric. */
export interface LockMetricOptions {
  description?: string;
  unit?: string;
  advice?: { explicitBucketBoundaries?: number[] };
}

const METHODS = [
  'createHistogram',
  'createCounter',
  'createUpDownCounter',
  'createObservableGauge',
  'createObservableCounter',
] satisfies Array<keyof LockMeter>;

const OPTIONS = new Options({ buckets: or(readBuckets, EVERY_BUCKET) });

/**
 * Measures all locks of this process with OpenTelemetry, until the returned function is called.
 *
 * ```ts
 * const stop = openTelemetryMetrics(metrics.getMeter('nestjs-redis-locks')); // metrics: from OpenTelemetry's API
 * ```
 * @throws LockConfigError for a value that is not a meter, or an option that cannot be used
 */
export function openTelemetryMetrics(meter: LockMeter, options: LockMeterOptions = {}): () => void {
  const { buckets } = OPTIONS.read('openTelemetryMetrics', options);
  read.withMethods(METHODS, 'metrics.getMeter(…)')('the meter of openTelemetryMetrics', meter);
  const removals: Array<() => void> = [];
  const stop = measureLocks(
    {
      duration({ name, help: description }, explicitBucketBoundaries) {
        const advice = { explicitBucketBoundaries };
        const histogram = meter.createHistogram(name, { description, unit: 's', advice });
        return (value, labels) => histogram.record(value, labels);
      },
      count({ name, help: description }) {
        const counter = meter.createCounter(name, { description });
        return (value, labels) => counter.add(value, labels);
      },
      level({ name, help: description }) {
        const level = meter.createUpDownCounter(name, { description });
        return (value, labels) => level.add(value, labels);
      },
      reading({ name, help: description, kind }, read) {
        const isCounted = kind === 'counted reading';
        const unit = kind === 'reading' || isCounted ? {} : { unit: 's' };
        const gauge = meter[isCounted ? 'createObservableCounter' : 'createObservableGauge'](name, {
          ...{ description, ...unit },
        });
        const observe: LockGaugeCallback = async (result) => {
          for (const { value, labels } of await read()) result.observe(value, labels);
        };
        gauge.addCallback(observe);
        removals.push(() => gauge.removeCallback(observe));
      },
    },
    buckets,
  );
  return () => {
    stop();
    for (const remove of removals) remove();
  };
}
