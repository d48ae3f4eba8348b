import { Options, or, read } from '../../options/option-readers.js';
import { LockConfigError } from '../../errors/index.js';
import { measureLocks, type Outcome } from './measure-locks.js';
import { EVERY_BUCKET, MEASURES, readBuckets, type Labels, type LockBuckets, type Measure } from './measures.js';

/** The parts of `prom-client` that are used: `import * as client from 'prom-client'` has them. */
export interface PrometheusClient {
  readonly register: PrometheusRegistry;
  readonly Histogram: new (options: PrometheusMetricOptions & { buckets: number[] }) => {
    observe(labels: PrometheusLabels, value: number): void;
    zero(labels: PrometheusLabels): void;
  };
  readonly Counter: PrometheusValueClass;
  readonly Gauge: PrometheusValueClass;
}

/** The class of a counter or of a gauge. */
export type PrometheusValueClass = new (
  options: PrometheusMetricOptions & { collect?: () => Promise<void> },
) => PrometheusValue;

/** The parts of a prom-client counter or gauge that are used. */
export interface PrometheusValue {
  inc(labels: PrometheusLabels, value?: number): void;
  reset(): void;
}

/** The parts of a prom-client registry that are used. */
export interface PrometheusRegistry {
  removeSingleMetric(name: string): void;
  getSingleMetric?(name: string): unknown;
}

/** The options of a prom-client metric. */
export interface PrometheusMetricOptions {
  name: string;
  help: string;
  labelNames: string[];
  registers: any[];
}

export type PrometheusLabels = Record<string, string>;

/** The options of `prometheusMetrics`. */
export interface PrometheusOptions {
  /**
   * Where the Prometheus metrics are registered.
   * @defaultValue the client's own `register`
   */
  registry?: PrometheusRegistry | undefined;
  /**
   * Upper bounds of the duration buckets, in seconds, for all histograms or for each one, as in
   * `{ acquire: [0.01, 0.1, 1], wait: false }`. `false` leaves out a histogram.
   * @defaultValue 17 bounds from 1 ms to 30 min
   */
  buckets?: LockBuckets | undefined;
}

const OPTIONS = new Options({ registry: read.asWritten, buckets: or(readBuckets, EVERY_BUCKET) });

/**
 * Measures all locks of this process with prom-client, until the returned function is called, which also removes the metrics
 * from the registry.
 *
 * ```ts
 * const stop = prometheusMetrics(client); // import * as client from 'prom-client'
 * ```
 * @throws LockConfigError for an option that cannot be used
 */
export function prometheusMetrics(client: PrometheusClient, options: PrometheusOptions = {}): () => void {
  const { buckets } = OPTIONS.read('prometheusMetrics', options);
  read.withMethods(['Histogram', 'Counter', 'Gauge'], 'prom-client')('the client of prometheusMetrics', client);
  const { registry = client.register } = options;
  read.withMethods(['removeSingleMetric'], 'a Registry of prom-client')('registry', registry);
  if (registry.getSingleMetric?.(prometheusName(MEASURES.wait)) !== undefined) {
    throw new LockConfigError(
      'prometheusMetrics was called before for this registry: call the function that it returned then, which removes the metrics.',
    );
  }
  const names: string[] = [];
  const metricOf = (measure: Measure) => {
    const name = prometheusName(measure);
    names.push(name);
    return { name, help: measure.help, labelNames: measure.labels.map(plain), registers: [registry] };
  };
  let waits: InstanceType<PrometheusClient['Histogram']> | undefined;
  const stop = measureLocks(
    {
      duration(measure, bounds) {
        const histogram = new client.Histogram({ ...metricOf(measure), buckets: bounds });
        if (measure === MEASURES.wait) waits = histogram;
        return (value, labels) => histogram.observe(inPrometheus(labels), value);
      },
      count(measure) {
        const counter = new client.Counter(metricOf(measure));
        return (value, labels) => counter.inc(inPrometheus(labels), value);
      },
      level(measure) {
        const level = new client.Gauge(metricOf(measure));
        return (value, labels) => level.inc(inPrometheus(labels), value);
      },
      reading(measure, read) {
        const Value = measure.kind === 'counted reading' ? client.Counter : client.Gauge;
        const metric = new Value({
          ...metricOf(measure),
          async collect() {
            const readings = await read();
            metric.reset();
            for (const { value, labels } of readings) metric.inc(inPrometheus(labels), value);
          },
        });
      },
    },
    buckets,
    // Like the counters: `rate()` sees the first wait.
    (labels) => WAIT_OUTCOMES.forEach((outcome) => waits?.zero(inPrometheus({ ...labels, 'lock.outcome': outcome }))),
  );
  return () => {
    stop();
    for (const name of names) registry.removeSingleMetric(name);
  };
}

const WAIT_OUTCOMES: readonly Outcome[] = ['acquired', 'timeout', 'skipped'];

const SUFFIXES: Readonly<Record<Measure['kind'], string>> = {
  duration: '_seconds',
  count: '_total',
  level: '',
  reading: '',
  'reading in seconds': '_seconds',
  'counted reading': '_total',
  timestamp: '_timestamp_seconds',
};

/** The name that OpenTelemetry's own Prometheus exporter gives it. */
export const prometheusName = ({ name, kind }: Measure): string => plain(name) + SUFFIXES[kind];

const plain = (name: string): string => name.replaceAll('.', '_');

const inPrometheus = (labels: Labels): PrometheusLabels =>
  Object.fromEntries(Object.entries(labels).map(([label, value]) => [plain(label), value]));
