// The public API; npm run generate:api writes it, and a test compares it with what is built.

export declare function prometheusMetrics(client: PrometheusClient, options?: PrometheusOptions): () => void;

export interface PrometheusClient {
    readonly register: PrometheusRegistry;
    readonly Histogram: new (options: PrometheusMetricOptions & {
        buckets: number[];
    }) => {
        observe(labels: PrometheusLabels, value: number): void;
        zero(labels: PrometheusLabels): void;
    };
    readonly Counter: PrometheusValueClass;
    readonly Gauge: PrometheusValueClass;
}

export interface PrometheusOptions {
    registry?: PrometheusRegistry | undefined;
    buckets?: LockBuckets | undefined;
}

export declare function openTelemetryMetrics(meter: LockMeter, options?: LockMeterOptions): () => void;

export interface LockMeter {
    createHistogram(name: string, options?: LockMetricOptions): {
        record(value: number, attributes?: Labels): void;
    };
    createCounter(name: string, options?: LockMetricOptions): {
        add(value: number, attributes?: Labels): void;
    };
    createUpDownCounter(name: string, options?: LockMetricOptions): {
        add(value: number, attributes?: Labels): void;
    };
    createObservableGauge(name: string, options?: LockMetricOptions): LockGauge;
    createObservableCounter(name: string, options?: LockMetricOptions): LockGauge;
}

export interface LockMeterOptions {
    buckets?: LockBuckets | undefined;
}

export declare function openTelemetrySpans(tracer: LockTracer, options?: LockSpanOptions): () => void;

export interface LockSpanOptions {
    keys?: boolean | undefined;
}

export interface LockTracer {
    startSpan(name: string, options?: {
        attributes?: Record<string, string | string[]>;
    }): LockSpan;
}

export declare function structuredLogs(logger: StructuredLogger, options?: StructuredLogOptions): () => void;

export interface StructuredLogger {
    debug(line: object): void;
    warn(line: object): void;
}

export interface StructuredLogOptions {
    types?: ReadonlyArray<LockEvent['type'] | 'failed'> | undefined;
}
