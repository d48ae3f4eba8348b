import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as client from 'prom-client';
import { prometheusMetrics } from '../../lib/observation/metrics/index.js';
import { findPromtool } from '../../scripts/lib/promtool.mjs';
import { LockBench, eventually } from '../../lab/testbed/locks/locks.js';

const run = promisify(execFile);
const RULES = fileURLToPath(new URL('../../docs/alert-rules.yml', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'locks-alerts-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** An alert that fires, with its labels beside the severity. */
interface Firing {
  readonly alert: string;
  readonly labels: Record<string, string>;
}

/** What a Prometheus would have scraped: the values of each series, one for each scrape. */
class Recording {
  readonly scrapes: Array<Map<string, string>> = [];

  private readonly registry = new client.Registry();
  private readonly stop = prometheusMetrics(client, { registry: this.registry });

  /** Scrapes so often. Answers the values of the last time. */
  async scrape(times = 1): Promise<Map<string, string>> {
    for (let i = 1; i < times; i++) await this.scrape();
    const lines = (await this.registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    const scrape = new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), line.split(' ').at(-1)!]));
    this.scrapes.push(scrape);
    return scrape;
  }

  /** Ends the recording. Answers its series in the notation of promtool. `_`: the series was not in that scrape. */
  end(): Array<{ series: string; values: string }> {
    this.stop();
    const names = new Set(this.scrapes.flatMap((scrape) => [...scrape.keys()]));
    return [...names].map((series) => ({
      series,
      values: this.scrapes.map((scrape) => scrape.get(series) ?? '_').join(' '),
    }));
  }
}

const alerts = [
  ...['LockLost', 'LockCallsFailed', 'LockTimeouts', 'LockWatchdogLate', 'LockWaitSlow', 'LockRedisUnreachable'],
  ...['LockHeldTooLong', 'LockJobDidNotRun'],
];

/** Lets promtool apply the rules to series with a value in each interval. `expected`: all alerts that fire at `at`. */
async function check(
  series: Array<{ series: string; values: string }>,
  at: string,
  expected: readonly Firing[],
  interval = '1m',
) {
  const file = join(directory, 'test.yml');
  copyFileSync(RULES, join(directory, 'alert-rules.yml'));
  // promtool compares annotations, too. Counts of the alerts do without them.
  const counted = (matchers: Record<string, string>, value: number) => {
    const all = Object.entries({ ...matchers, alertstate: 'firing' }).map(([name, text]) => `${name}="${text}"`);
    const exp_samples = value === 0 ? [] : [{ labels: '{}', value }];
    return { expr: `count(ALERTS{${all.join(',')}})`, eval_time: at, exp_samples };
  };
  const promql_expr_test = [
    ...alerts.map((alertname) => counted({ alertname }, expected.filter(({ alert }) => alert === alertname).length)),
    ...expected.map(({ alert, labels }) => counted({ alertname: alert, ...labels }, 1)),
  ];
  const test = {
    rule_files: ['alert-rules.yml'],
    evaluation_interval: interval,
    tests: [{ interval, input_series: series, promql_expr_test }],
  };
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(test));
  await run(findPromtool(), ['test', 'rules', file], { cwd: directory }).catch(
    (error: { stdout: string; stderr: string }) => {
      throw new Error(`${error.stdout}${error.stderr}`);
    },
  );
}

/** Starts a service, and has it elected. */
async function leaderOf(service: Awaited<ReturnType<LockBench['service']>>) {
  await service.start();
  const leader = service.getLeaderElection('leader');
  leader.start();
  await eventually(() => leader.isLeader);
  return leader;
}

describe('the alert rules, on recorded metrics', () => {
  const bench = new LockBench();

  it('are valid', async () => {
    expect((await run(findPromtool(), ['check', 'rules', RULES])).stdout).toContain(
      `SUCCESS: ${alerts.length} rules found`,
    );
  });

  it('fire for a lost lock, late renewals and an unreachable Redis, and not before', async () => {
    const recording = new Recording();
    // When a renewal of this lease reaches the limit of the rule, half of the lease is left.
    const service = await bench.service({ renewedLease: '30s', commandTimeout: '60s' });
    await service.start();
    await recording.scrape();
    // A handle that is dropped would not be renewed.
    const held = await service.acquire('a', { pattern: 'first' });
    await recording.scrape(3);
    const calm = recording.scrapes.length - 1;
    await bench.redis.pause();
    try {
      const lag = 'redis_lock_watchdog_lag_seconds{lock_instance="default"}';
      await eventually(async () => Number((await recording.scrape()).get(lag)) > 5, { within: 60_000 });
    } finally {
      await bench.redis.resume();
    }
    const late = recording.scrapes.length - 1;
    await service.forceRelease('a');
    const lost =
      'redis_lock_lost_total{lock_instance="default",lock_pattern="first",lock_kind="exclusive",lock_loss_reason="forced"}';
    await eventually(async () => (await recording.scrape()).get(lost) === '1');
    expect(held.isHeld).toBe(false);
    const end = recording.scrapes.length - 1;
    const series = recording.end();
    await check(series, `${calm}m`, []);
    const instance = { lock_instance: 'default' };
    await check(series, `${late}m`, [
      { alert: 'LockWatchdogLate', labels: instance },
      { alert: 'LockRedisUnreachable', labels: instance },
    ]);
    // The first loss of this pattern: the counter was 0 before.
    await check(series, `${end}m`, [
      { alert: 'LockWatchdogLate', labels: instance },
      {
        alert: 'LockLost',
        labels: { ...instance, lock_pattern: 'first', lock_loss_reason: 'forced', severity: 'critical' },
      },
    ]);
  });

  it('fire for calls that Redis fails, and for calls that time out', async () => {
    const recording = new Recording();
    const [one, other] = await bench.serviceList(2);
    await one.run('b', () => undefined, { pattern: 'refused' });
    await using _held = await one.acquire('a', { pattern: 'busy' });
    await recording.scrape(3);
    for (let i = 0; i < 8; i++) {
      await expect(other.acquire('a', { pattern: 'busy', waitTimeout: 1 })).rejects.toThrow('was held');
    }
    await bench.redis.withoutMemory(() =>
      expect(one.acquire('b', { pattern: 'refused' })).rejects.toMatchObject({ code: 'LOCK_STORE' }),
    );
    await recording.scrape(4);
    const series = recording.end();
    await check(series, '2m', []);
    await check(series, '6m', [
      { alert: 'LockCallsFailed', labels: { lock_pattern: 'refused', severity: 'critical' } },
      { alert: 'LockTimeouts', labels: { lock_pattern: 'busy', severity: 'warning' } },
    ]);
  });

  it('fire for a process whose event loop was blocked, although no scrape happened meanwhile', async () => {
    const recording = new Recording();
    const service = await bench.service({ renewedLease: '3s' });
    await service.start();
    const lock = await service.acquire('a');
    await recording.scrape();
    const until = performance.now() + 7_000;
    while (performance.now() < until);
    await eventually(() => !lock.isHeld);
    await recording.scrape(2);
    const series = recording.end().filter((each) => each.series.includes('watchdog'));
    await check(series, '0m', []);
    await check(series, '2m', [{ alert: 'LockWatchdogLate', labels: { lock_instance: 'default' } }]);
  });

  it('are quiet for skipped cron jobs, a waiting candidate and a leader', async () => {
    const recording = new Recording();
    const [one, other] = await bench.serviceList(2);
    const leader = await leaderOf(one);
    const follower = other.getLeaderElection('leader');
    follower.start();
    await bench.untilWaiting('leader', 1);
    const cron = await one.acquire('cron', { pattern: 'cron' });
    await recording.scrape(3);
    const since = performance.now();
    const skipped = Array.from({ length: 8 }, () =>
      other.tryAcquire('cron', { pattern: 'cron', waitTimeout: '5500ms' }),
    );
    expect(await Promise.all(skipped)).toEqual(Array<null>(8).fill(null));
    expect(performance.now() - since).toBeGreaterThan(5_000);
    await leader.stop();
    await eventually(() => follower.isLeader);
    await cron.release();
    await recording.scrape(4);
    const series = recording.end();
    await check(series, '6m', []);
    const leads = series.filter(({ series: name }) => /oldest_hold.*leader|candidates/.test(name));
    expect(leads).toHaveLength(2);
    const hours = leads.map(({ series: name }) => ({
      series: name,
      values: name.includes('oldest') ? '0+60x90' : '1x90',
    }));
    await check(hours, '80m', []);
  });

  it('are quiet during a rolling deploy with a cron job, an election, a holder and a waiter', async () => {
    const series: Array<{ series: string; values: string }> = [];
    /** Scrapes the pods of one version. `before`: the number of earlier scrapes. */
    const scraped = async (pod: string, before: number, life: (scrape: () => Promise<unknown>) => Promise<void>) => {
      const recording = new Recording();
      await life(() => recording.scrape());
      for (const { series: name, values } of recording.end()) {
        series.push({ series: name.replace('{', `{pod="${pod}",`), values: '_ '.repeat(before) + values });
      }
      return before + recording.scrapes.length;
    };
    const job = { pattern: 'nightly-report', waitTimeout: 10, holdAtLeast: '1m' } as const;
    const [one, other, three, four] = await bench.serviceList(4, { shutdownTimeout: '10s' });
    const deployed = await scraped('old', 0, async (scrape) => {
      await leaderOf(one);
      other.getLeaderElection('leader').start();
      await (await one.tryAcquire('nightly-report', job))!.release();
      expect(await other.tryAcquire('nightly-report', job)).toBeNull();
      const order = await one.acquire('order', { pattern: 'orders' });
      const waiting = other.acquire('order', { pattern: 'orders', waitTimeout: '1m' }).catch((error: unknown) => error);
      await bench.untilWaiting('order', 1);
      for (let i = 0; i < 3; i++) await scrape();
      await other.close();
      expect(await waiting).toMatchObject({ code: 'LOCK_STORE' });
      await scrape();
      const closing = one.close();
      await scrape();
      await order.release();
      await closing;
      for (let i = 0; i < 3; i++) await scrape();
    });
    const end = await scraped('new', deployed, async (scrape) => {
      await leaderOf(three);
      await three.run('order', () => undefined, { pattern: 'orders' });
      expect(await four.tryAcquire('nightly-report', job)).toBeNull();
      for (let i = 0; i < 5; i++) await scrape();
    });
    for (let at = 1; at < end; at++) await check(series, `${at}m`, []);
  });

  it('fire for a job that no replica has run, and not for replicas that were late', async () => {
    const ran = (pod: string, values: string) => ({
      series: `redis_lock_last_acquired_timestamp_seconds{pod="${pod}",lock_instance="default",lock_pattern="nightly-report",lock_kind="exclusive"}`,
      values,
    });
    await check([ran('one', '0x160')], '1500m', [], '10m');
    const late = { alert: 'LockJobDidNotRun', labels: { lock_pattern: 'nightly-report', severity: 'warning' } };
    await check([ran('one', '0x160')], '1510m', [late], '10m');
    // The second night, another replica ran it; the first one is gone.
    await check([ran('one', '0x144'), ran('two', `${'_ '.repeat(144)}86400x16`)], '1600m', [], '10m');
  });

  it('fire for the first call of a process if it fails or loses its lock, and not for old counts', async () => {
    const labels = 'lock_instance="default",lock_pattern="first",lock_kind="exclusive"';
    const failed = `redis_lock_failed_total{${labels}}`;
    const lost = `redis_lock_lost_total{${labels},lock_loss_reason="unknown"}`;
    const first = [failed, lost].map((series) => ({ series, values: '_ _ 1x20' }));
    const [alert, other] = ['LockCallsFailed', 'LockLost'].map((name) => ({
      alert: name,
      labels: { lock_pattern: 'first', severity: 'critical' },
    }));
    await check(first, '4m', [alert!, other!]);
    await check(first, '15m', []);
  });

  it('fire for long waits and for a lock that is held too long', async () => {
    const recording = new Recording();
    const [one, other] = await bench.serviceList(2);
    await one.start();
    const lock = await one.acquire('a', { pattern: 'slow' });
    const since = performance.now();
    const waiting = Array.from({ length: 8 }, () =>
      other.run('a', () => undefined, { pattern: 'slow', waitTimeout: '5m' }),
    );
    await bench.untilWaiting('a', 1);
    await recording.scrape(3);
    await eventually(() => performance.now() - since > 5_200);
    await lock.release();
    await Promise.all(waiting);
    await recording.scrape(4);
    const series = recording.end();
    await check(series, '2m', []);
    await check(series, '6m', [{ alert: 'LockWaitSlow', labels: { lock_instance: 'default', lock_pattern: 'slow' } }]);
    // An hour later, the lock of the first scrape would be an hour older.
    const oldest = series.find((each) => each.series.startsWith('redis_lock_oldest_hold_seconds'))!;
    const hour = [{ series: oldest.series, values: '0+60x70' }];
    await check(hour, '60m', []);
    await check(hour, '62m', [{ alert: 'LockHeldTooLong', labels: { lock_pattern: 'slow', lock_kind: 'exclusive' } }]);
  });
});
