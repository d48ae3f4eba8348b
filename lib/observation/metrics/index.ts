// In reading order: metrics, spans, log lines. Nothing of these packages is imported: their objects are given.
export { prometheusMetrics } from './prometheus-metrics.js';
export type {
  PrometheusClient,
  PrometheusLabels,
  PrometheusMetricOptions,
  PrometheusOptions,
  PrometheusRegistry,
} from './prometheus-metrics.js';
export { openTelemetryMetrics, type LockMeter, type LockMetricOptions } from './opentelemetry-metrics.js';
export { openTelemetrySpans, type LockSpan, type LockSpanOptions, type LockTracer } from './opentelemetry-spans.js';
export { structuredLogs, type StructuredLogger, type StructuredLogOptions } from './structured-logs.js';
