// In reading order: metrics, spans, log lines. This library imports none of these packages: the user passes their objects.
export { prometheusMetrics } from './prometheus-metrics.js';
export type {
  PrometheusClient,
  PrometheusGauge,
  PrometheusLabels,
  PrometheusMetricOptions,
  PrometheusOptions,
  PrometheusRegistry,
} from './prometheus-metrics.js';
export { openTelemetryMetrics } from './opentelemetry-metrics.js';
export type {
  LockGauge,
  LockGaugeCallback,
  LockMeter,
  LockMeterOptions,
  LockMetricOptions,
} from './opentelemetry-metrics.js';
export type { DurationName as LockDurationName, LockBuckets } from './measures.js';
export { openTelemetrySpans, type LockSpan, type LockSpanOptions, type LockTracer } from './opentelemetry-spans.js';
export { structuredLogs, type StructuredLogger, type StructuredLogOptions } from './structured-logs.js';
