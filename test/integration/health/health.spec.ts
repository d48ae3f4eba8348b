import { Controller, Get } from '@nestjs/common';
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { LockService } from 'nestjs-redis-locks';
import type { RedisLockRootOptions } from '../../../lib/module/redis-lock.options.js';
import {
  LockHealthIndicator,
  type LockHealthCheckOptions,
  type LockHealthReport,
} from '../../../lib/observation/health/index.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { NestBench } from '../nest/support.js';

const bench = new NestBench();
let options: LockHealthCheckOptions = {};

@Controller('health')
class Health {
  constructor(
    private readonly health: HealthCheckService,
    private readonly locks: LockHealthIndicator,
  ) {}

  @Get()
  @HealthCheck()
  check() {
    return this.health.check([() => this.locks.check('locks', options)]);
  }
}

/** An application with Terminus, and its answers to `GET /health`. */
async function application(module: RedisLockRootOptions = {}, checks: LockHealthCheckOptions = {}) {
  options = checks;
  const builder = bench.build(
    {
      imports: [TerminusModule.forRoot({ logger: false })],
      controllers: [Health],
      providers: [LockHealthIndicator],
    },
    { shutdownTimeout: 0, ...module },
  );
  const { app, url } = await bench.listen(builder);
  return {
    app,
    async look() {
      const response = await fetch(`${url}/health`);
      const { details } = (await response.json()) as { details: { locks: LockHealthReport } };
      return { code: response.status, ...details.locks };
    },
  };
}

describe('health, with Terminus', () => {
  it('is up in normal operation', async () => {
    const { app, look } = await application({ label: 'orders:1' });
    await app.get(LockService).acquire('a');
    expect(await look()).toEqual({
      ...{ code: 200, status: 'up', label: 'orders:1', connection: 'up', subscription: 'up', watchdog: 'up' },
      ...{ watchdogLag: 0, roundTrip: expect.any(Number), held: 1 },
    });
  });

  it('is down while Redis does not answer, within its timeout, and up again', async () => {
    const { look } = await application({}, { timeout: '100ms' });
    await bench.redis.pause();
    expect(await look()).toMatchObject({
      ...{ code: 503, status: 'down', connection: 'down', subscription: 'up' },
      message: 'Redis did not answer within 100 ms',
    });
    await bench.redis.resume();
    await eventually(async () => (await look()).code === 200);
  });

  it('says why Redis does not answer', async () => {
    const { admin, url } = bench.redis;
    await admin.acl('SETUSER', 'ann', 'on', '>first', '~*', '&*', '+@all');
    const connection = url.replace('//', '//ann:first@');
    const { look } = await application({ connection, commandTimeout: '60s' }, { timeout: '50ms' });
    await admin.acl('SETUSER', 'ann', 'resetpass', '>second');
    await admin.call('CLIENT', 'KILL', 'USER', 'ann');
    const found = await eventually(async () => {
      const report = await look();
      return report.message?.includes('WRONGPASS') && report;
    });
    expect(found).toMatchObject({ code: 503, status: 'down' });
    await admin.acl('DELUSER', 'ann');
  });

  it('is down while messages are not received', async () => {
    const { look } = await application();
    // The subscriber connects again, and may not subscribe any more.
    await bench.redis.admin.acl('SETUSER', 'default', '-subscribe');
    try {
      await bench.redis.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await eventually(async () => (await look()).code === 503);
      expect(await look()).toMatchObject({
        ...{ status: 'down', connection: 'up', subscription: 'down', watchdog: 'up' },
        message: expect.stringContaining('the subscription does not work'),
      });
    } finally {
      await bench.redis.admin.acl('SETUSER', 'default', '+subscribe');
    }
    await eventually(async () => (await look()).code === 200);
  });

  it('is down while renewals are late', async () => {
    // A lease of 2 s is renewed after 0.67 s.
    const { app, look } = await application({ renewedLease: 2_000 }, { maxWatchdogLag: 100, timeout: 50 });
    const lock = await app.get(LockService).acquire('a');
    await bench.redis.pause();
    const late = await eventually(async () => {
      const found = await look();
      return found.watchdog === 'down' && found;
    });
    expect(late).toMatchObject({
      code: 503,
      connection: 'down',
      message: expect.stringMatching(/renewals are \d+ ms late/),
    });
    expect(lock.isHeld).toBe(true);
    await bench.redis.resume();
    await eventually(async () => (await look()).watchdog === 'up');
  });

  it('checks a named instance, and refuses an unknown one', async () => {
    const { app, look } = await application({ instance: 'jobs' }, { instance: 'jobs' });
    expect(await look()).toMatchObject({ code: 200 });
    const indicator = app.get(LockHealthIndicator);
    await expect(indicator.check('locks')).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
    await expect(indicator.check('locks', { instance: 'jobs', timeout: '5' as never })).rejects.toMatchObject({
      code: 'LOCK_CONFIG',
    });
  });
});

describe('LockService.health', () => {
  it('does not mistake a short first, a shorter or a fixed lease for a late renewal', async () => {
    const locks = await bench.other();
    const other = await bench.other();
    const first = await locks.acquire('a');
    const handedOver = other.acquire('a');
    await bench.untilWaiting('a', 1);
    await first.release();
    await handedOver;
    await (await other.acquire('b')).extend('5s');
    await other.acquire('c', { expire: 5_000 });
    expect(await other.health()).toMatchObject({ reachable: true, subscribed: true, watchdogLag: 0, held: 3 });
  });

  it('is healthy in memory', async () => {
    const locks = (await bench.boot({}, { store: 'memory' })).get(LockService);
    expect(await locks.health()).toMatchObject({
      ...{ client: locks.clientId, label: locks.label, reachable: true, error: undefined, subscribed: true },
    });
  });
});
