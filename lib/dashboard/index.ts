// In reading order: set it up.
export { RedisLockDashboardModule } from './dashboard.module.js';
export type {
  RedisLockDashboardAsyncOptions,
  RedisLockDashboardOptions,
  RedisLockDashboardSettings,
} from './dashboard.options.js';
