import type { Redis } from 'ioredis';
import { timeOf } from '../deployment/deployment.js';
import { ok, problem, warning, type Finding } from './finding.js';

/** The difference between a server's clock and the local one. */
export interface ClockReading {
  /** By how many ms the server is ahead. */
  readonly ahead: number;
  /** The round trip in ms. The error of `ahead` is at most half of it. */
  readonly took: number;
}

/** How many times the clock is read. The fastest reading is the most exact one. */
const QUESTIONS = 5;
/** A difference of this many ms or more is reported. */
const APART = 1_000;
/** A round trip of this many ms or more is reported. */
const SLOW = 50;

/** The difference in ms between the clocks of Redlock masters from which on tokens may not grow. */
const A_DAY = 86_400_000;

export async function readClock(client: Redis): Promise<ClockReading> {
  const readings: ClockReading[] = [];
  for (let i = 0; i < QUESTIONS; i++) {
    const [from, since] = [Date.now(), performance.now()];
    const server = await timeOf(client);
    const took = performance.now() - since;
    readings.push({ ahead: server - (from + took / 2), took });
  }
  return readings.reduce((best, each) => (each.took < best.took ? each : best));
}

export function checkLatency({ took }: ClockReading): Finding {
  const found = `${took.toFixed(1)} ms`;
  if (took < SLOW) return ok('round trip', found);
  return warning(
    'round trip',
    found,
    'run the service near its Redis: acquiring and releasing a lock take one round trip each',
  );
}

/** Leases use monotonic clocks. Only fencing tokens and displayed times depend on the wall clock. */
export function checkClock({ ahead, took }: ClockReading): Finding {
  const skew = Math.max(0, Math.abs(ahead) - took / 2);
  const [fast, slow] = ahead < 0 ? ['this machine', 'the server'] : ['the server', 'this machine'];
  const found = `the clock of ${fast} is ${Math.abs(ahead).toFixed(0)} ms ahead of that of ${slow}`;
  if (skew < APART) return ok('clock', found);
  return warning(
    'clock',
    `${found} (± ${(took / 2).toFixed(0)} ms)`,
    'synchronize both clocks (NTP), and compare with a third machine, as either may be wrong: leases do not depend on them, but after a failover fencing tokens grow only if the servers agree',
  );
}

/** Compares the clocks of several masters with each other, by the readings of each. */
export function checkClocks(readings: ReadonlyMap<string, ClockReading>, isRedlock: boolean): Finding {
  const all = [...readings].sort(([, a], [, b]) => a.ahead - b.ahead);
  const [[slow, first], [fast, last]] = [all[0]!, all.at(-1)!];
  const apart = Math.max(0, last.ahead - first.ahead - (first.took + last.took) / 2);
  const found = `the masters differ by ${apart.toFixed(0)} ms`;
  if (apart < APART) return ok('clocks', found);
  const advice = `synchronize the masters (NTP): ${
    isRedlock
      ? 'fencing tokens grow only if their clocks differ by less than a day'
      : 'the ages of locks and the tokens after a failover depend on them'
  }`;
  const detail = `${found}: ${fast} is ahead of ${slow}`;
  return isRedlock && apart >= A_DAY ? problem('clocks', detail, advice) : warning('clocks', detail, advice);
}
