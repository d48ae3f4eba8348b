import { refuseWithoutMethods } from '../../options/option-readers.js';
import { measureLocks, type Recorder } from './measure-locks.js';
import { BUCKETS, MEASURES, type Labels, type Measure } from './measures.js';

/** The methods of a meter that are used: `Meter` of `@opentelemetry/api` has them. */
export interface LockMeter {
  createHistogram(name: string, options?: LockMetricOptions): { record(value: number, attributes?: Labels): void };
  createCounter(name: string, options?: LockMetricOptions): { add(value: number, attributes?: Labels): void };
  createUpDownCounter(name: string, options?: LockMetricOptions): { add(value: number, attributes?: Labels): void };
}

/** The options of a metric. */
export interface LockMetricOptions {
  description?: string;
  unit?: string;
  advice?: { explicitBucketBoundaries?: number[] };
}

const METHODS = ['createHistogram', 'createCounter', 'createUpDownCounter'] satisfies Array<keyof LockMeter>;

/**
 * Measures all locks of this process with OpenTelemetry, until the returned function is called.
 *
 * ```ts
 * const stop = openTelemetryMetrics(metrics.getMeter('nestjs-redis-locks')); // metrics of @opentelemetry/api
 * ```
 * @throws LockConfigError for a value that is not a meter
 */
export function openTelemetryMetrics(meter: LockMeter): () => void {
  refuseWithoutMethods('the meter of openTelemetryMetrics', meter, METHODS, 'metrics.getMeter(…)');
  const recorders = Object.fromEntries(
    Object.entries(MEASURES).map(([id, measure]) => [id, recorderOf(meter, measure)]),
  ) as Record<keyof typeof MEASURES, (value: number, labels: Labels) => void>;
  const record: Recorder = (measure, value, labels) => recorders[measure](value, labels);
  return measureLocks(record);
}

function recorderOf(meter: LockMeter, { kind, name, help }: Measure): (value: number, labels: Labels) => void {
  const description = help;
  switch (kind) {
    case 'duration': {
      const advice = { explicitBucketBoundaries: [...BUCKETS] };
      const histogram = meter.createHistogram(name, { description, unit: 's', advice });
      return (value, labels) => histogram.record(value, labels);
    }
    case 'count': {
      const counter = meter.createCounter(name, { description });
      return (value, labels) => counter.add(value, labels);
    }
    case 'level': {
      const level = meter.createUpDownCounter(name, { description });
      return (value, labels) => level.add(value, labels);
    }
  }
}
