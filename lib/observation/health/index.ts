export { LockHealthIndicator } from './lock-health.indicator.js';
export type { LockHealthCheckOptions, LockHealthReport } from './lock-health.indicator.js';
