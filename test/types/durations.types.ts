/* The durations that the compiler accepts and refuses: checked by tsc with everything else, and never run. */
import { DistributedLock, parseDuration, RedisLockModule, type Duration } from 'nestjs-redis-locks';

declare const configured: string;

export const accepted: Duration[] = [
  0,
  1.5,
  30_000,
  Infinity,
  '500ms',
  '30s',
  '1.5m',
  '1h',
  '1d',
  parseDuration(configured),
];

// @ts-expect-error a text needs a unit
export const unitless: Duration = '30';
// @ts-expect-error a word is no unit
export const inWords: Duration = '30 seconds';
// @ts-expect-error nor is a duration of ISO 8601
export const iso: Duration = 'PT30S';
// @ts-expect-error there are no weeks
export const weeks: Duration = '1w';
// @ts-expect-error two units do not add up
export const mixed: Duration = '1h30';
// @ts-expect-error a configured text goes through parseDuration(text)
export const unread: Duration = configured;
// @ts-expect-error a big integer is no duration
export const big: Duration = 30n;
// @ts-expect-error nor is a date
export const date: Duration = new Date();

// docs/api.d.ts shows which options are durations.
RedisLockModule.forRoot({ renewedLease: parseDuration(configured), defaults: { waitTimeout: '5s' } });
// @ts-expect-error a configured text
RedisLockModule.forRoot({ renewedLease: configured });

export class Stock {
  @DistributedLock('a', '30s', 3)
  @DistributedLock({ key: 'b', expire: parseDuration(configured), waitTimeout: Infinity })
  async accepted(): Promise<void> {}
}
