// In reading order: metrics, spans, log lines. This library imports none of these packages: the user passes their objects.
export { prometheusMetrics, type PrometheusClient, type PrometheusOptions } from './prometheus-metrics.js';
export { openTelemetryMetrics, type LockMeter, type LockMeterOptions } from './opentelemetry-metrics.js';
export { openTelemetrySpans, type LockSpanOptions, type LockTracer } from './opentelemetry-spans.js';
export { structuredLogs, type StructuredLogger, type StructuredLogOptions } from './structured-logs.js';
