import { readBounds, refuseUnknownOptions, refuseWithoutMethods } from '../../options/option-readers.js';
import { measureLocks, type Recorder } from './measure-locks.js';
import { BUCKETS, MEASURES, type Labels, type Measure } from './measures.js';

/** The parts of `prom-client` that are used: `import * as client from 'prom-client'` has them. */
export interface PrometheusClient {
  readonly register: PrometheusRegistry;
  readonly Histogram: new (options: PrometheusMetricOptions & { buckets: number[] }) => {
    observe(labels: PrometheusLabels, value: number): void;
  };
  readonly Counter: new (options: PrometheusMetricOptions) => { inc(labels: PrometheusLabels, value?: number): void };
  readonly Gauge: new (options: PrometheusMetricOptions) => { inc(labels: PrometheusLabels, value?: number): void };
}

/** The parts of a prom-client registry that are used. */
export interface PrometheusRegistry {
  removeSingleMetric(name: string): void;
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
  registry?: PrometheusRegistry;
  /**
   * Upper bounds of the duration buckets, in seconds.
   * @defaultValue 17 bounds from 1 ms to 30 min
   */
  buckets?: readonly number[];
}

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
  refuseUnknownOptions('prometheusMetrics', options, ['registry', 'buckets']);
  const buckets = readBounds('buckets', options.buckets ?? BUCKETS);
  refuseWithoutMethods('the client of prometheusMetrics', client, ['Histogram', 'Counter', 'Gauge'], 'prom-client');
  const { registry = client.register } = options;
  refuseWithoutMethods('registry', registry, ['removeSingleMetric'], 'a Registry of prom-client');
  const recorders = Object.fromEntries(
    Object.entries(MEASURES).map(([id, measure]) => [id, recorderOf(client, registry, buckets, measure)]),
  ) as Record<keyof typeof MEASURES, (value: number, labels: PrometheusLabels) => void>;
  const record: Recorder = (measure, value, labels) => recorders[measure](value, inPrometheus(labels));
  const stop = measureLocks(record);
  return () => {
    stop();
    for (const measure of Object.values(MEASURES)) registry.removeSingleMetric(prometheusName(measure));
  };
}

function recorderOf(
  client: PrometheusClient,
  registry: PrometheusRegistry,
  buckets: readonly number[],
  measure: Measure,
): (value: number, labels: PrometheusLabels) => void {
  const name = prometheusName(measure);
  const options = { name, help: measure.help, labelNames: measure.labels.map(plain), registers: [registry] };
  switch (measure.kind) {
    case 'duration': {
      const histogram = new client.Histogram({ ...options, buckets: [...buckets] });
      return (value, labels) => histogram.observe(labels, value);
    }
    case 'count': {
      const counter = new client.Counter(options);
      return (value, labels) => counter.inc(labels, value);
    }
    case 'level': {
      const level = new client.Gauge(options);
      return (value, labels) => level.inc(labels, value);
    }
  }
}

const SUFFIXES: Readonly<Record<Measure['kind'], string>> = { duration: '_seconds', count: '_total', level: '' };

/** The name that OpenTelemetry's own Prometheus exporter gives it. */
export const prometheusName = ({ name, kind }: Measure): string => plain(name) + SUFFIXES[kind];

const plain = (name: string): string => name.replaceAll('.', '_');

const inPrometheus = (labels: Labels): PrometheusLabels =>
  Object.fromEntries(Object.entries(labels).map(([label, value]) => [plain(label), value]));
