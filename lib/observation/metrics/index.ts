// In reading order: metrics, spans, log lines. This library imports none of these packages: the user passes their objects.
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
