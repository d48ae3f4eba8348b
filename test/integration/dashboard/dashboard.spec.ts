import {
  Injectable,
  Logger,
  Module,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { jest } from '@jest/globals';
import { map, type Observable } from 'rxjs';
import { getLockServiceToken, LockService } from 'nestjs-redis-locks';
import { RedisLockDashboardModule } from 'nestjs-redis-locks/dashboard';
import { eventually, eventuallyPasses } from '../../../lab/testbed/wait/eventually.mjs';
import { aborted, expectHandoff } from '../../../lab/testbed/locks/locks.js';
import { RespProxy } from '../../../lab/testbed/proxies/resp-proxy.mjs';
import { deferred } from '../../../lab/testbed/wait/deferred.js';
import { SCRIPTS } from '../../../lib/store/redis/scripts.generated.js';
import { ADAPTERS } from '../nest/adapters.js';
import { NestBench } from '../nest/support.js';
import { OWN, serve, Stream } from './support.js';

const bench = new NestBench();

@Injectable()
class Accounts {
  readonly operators = ['ann'];
}
@Module({ providers: [Accounts], exports: [Accounts] })
class AccountsModule {}

/** Has a dependency, as guards do. */
@Injectable()
class Operators implements CanActivate {
  constructor(private readonly accounts: Accounts) {}

  canActivate(context: ExecutionContext): boolean {
    return this.accounts.operators.includes(context.switchToHttp().getRequest().headers['x-user']);
  }
}

@Injectable()
class Wrapping implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((data: unknown) => ({ data })));
  }
}

/** Readers with holds of their own in Redis. */
const ALONE = { kind: 'read', fair: true } as const;

describe.each(ADAPTERS)('the dashboard on %s', (_name, adapter) => {
  it('serves one page that may load only its own files', async () => {
    const server = await serve(bench, {}, { adapter });
    const response = await server.get('');
    const html = await response.text();
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('no-store');
    const policy = response.headers.get('content-security-policy')!;
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
    expect(html).toContain('<h1>Locks</h1>');
    // No file but this one: everything that it refers to is within it, or data.
    expect([...html.matchAll(/\b(?:src|href)="(.)/g)].filter(([, first]) => first !== '#' && first !== 'd')).toEqual(
      [],
    );
  });

  it('applies its guards, which may inject, to every request', async () => {
    const server = await serve(bench, { guards: [Operators], imports: [AccountsModule] }, { adapter });
    const ann = { 'x-user': 'ann' };
    for (const path of ['', '/state', '/events']) {
      expect([path, (await server.get(path)).status]).toEqual([path, 403]);
      const allowed = await server.get(path, ann);
      expect([path, allowed.status]).toEqual([path, 200]);
      await allowed.body!.cancel();
    }
    const order = { key: 'a', fencingToken: 1 };
    expect((await server.release(order)).status).toBe(403);
    expect((await server.release(order, { ...OWN, ...ann })).body).toEqual({ outcome: 'free' });
  });

  it('does not stream to a browser that left while a guard decided', async () => {
    const closed = deferred();
    const asked = deferred();
    const answer = deferred<boolean>();
    const slow: CanActivate = {
      canActivate(context) {
        const response = context.switchToHttp().getResponse();
        (response.raw ?? response).once('close', () => closed.resolve());
        asked.resolve();
        return answer;
      },
    };
    const server = await serve(bench, { guards: [slow], refresh: 250 }, { adapter });
    const leaving = new AbortController();
    const gone = fetch(`${server.url}/events`, { signal: leaving.signal }).catch(() => 'gone');
    await asked;
    leaving.abort();
    expect(await gone).toBe('gone');
    await closed;
    await bench.redis.resetCommandStats();
    answer.resolve(true);
    await new Promise((resolve) => setTimeout(resolve, 800));
    expect((await bench.redis.commandStats())['scan'] ?? 0).toBe(0);
  });

  it('streams events and states to its viewers', async () => {
    const server = await serve(bench, {}, { adapter });
    await using stream = await Stream.open(server);
    await stream.until(({ locks }) => locks.list.length === 0);
    const lock = await server.locks.acquire('a');
    await stream.until(({ locks }) => locks.list[0]?.key === 'a');
    await lock.release();
    const { activity } = await stream.until(({ activity: { hold } }) => hold.released.some(Boolean));
    expect(activity.acquired.reduce((sum, each) => sum + each)).toBe(1);
    expect(activity.wait.free.reduce((sum, each) => sum + each)).toBe(1);
  });

  it('releases a lock, hands it to the next waiter, notifies its holder, and logs who did it', async () => {
    const server = await serve(bench, { readOnly: false }, { adapter });
    const warn = jest.fn<(line: string) => void>();
    const locks = server.locks;
    const other = await bench.other();
    const lock = await locks.acquire('a');
    const waiting = other.acquire('a');
    // Its client writes the label in the background.
    await eventually(async () => (await locks.inspect('a'))?.waiters[0]?.label);
    Logger.overrideLogger({ log() {}, error() {}, warn });
    const order = { key: 'a', fencingToken: (await server.state()).locks.list[0]!.fencingToken };
    const basic = `Basic ${Buffer.from('ann:secret').toString('base64')}`;
    expect(await server.release(order, { ...OWN, authorization: basic })).toEqual({
      ...{ status: 200, body: { outcome: 'released' } },
    });
    const by = `ann of the dashboard of ${locks.label}`;
    expect(warn.mock.calls.map(([line]) => line)).toContain(
      `"a" was released by force by ${by}; it was held by ${locks.label}; the next holder is ${other.label}`,
    );
    expect(await aborted(lock.signal)).toMatchObject({ lossReason: 'forced', forcedBy: by });
    const next = await waiting;
    // The release was not meant for the current holder.
    const { status, body } = await server.release(order);
    expect([status, body]).toMatchObject([409, { outcome: 'changed', lock: { fencingToken: next.fencingToken } }]);
    expect(next.isHeld).toBe(true);
    await next.release();
    expect(await server.release(order)).toEqual({ status: 200, body: { outcome: 'free' } });
    await eventuallyPasses(async () => {
      expect((await server.state()).activity.incidents).toMatchObject([{ type: 'lost', key: 'a' }]);
    });
  });

  it.each([
    ['without its own header', { 'content-type': 'application/json' }],
    ['as a form', { ...OWN, 'content-type': 'application/x-www-form-urlencoded' }],
    ['as a text', { ...OWN, 'content-type': 'text/plain' }],
    ['from another site', { ...OWN, 'sec-fetch-site': 'cross-site' }],
    ['from a sibling of its site', { ...OWN, 'sec-fetch-site': 'same-site' }],
    ['from another origin', { ...OWN, origin: 'https://evil.example' }],
    ['from no origin', { ...OWN, origin: 'null' }],
  ])('refuses a release %s', async (_how, headers) => {
    const server = await serve(bench, { readOnly: false }, { adapter });
    const lock = await server.locks.acquire('a');
    const { status } = await server.release({ key: 'a', fencingToken: lock.fencingToken }, headers);
    // Fastify knows no other type than JSON and text.
    expect([403, 415]).toContain(status);
    expect((await server.locks.inspect('a'))!.fencingToken).toBe(lock.fencingToken);
  });

  it('logs a release in one line, whatever the user is called', async () => {
    const server = await serve(bench, { readOnly: false }, { adapter });
    const warn = jest.fn<(line: string) => void>();
    Logger.overrideLogger({ log() {}, error() {}, warn });
    const { fencingToken } = await server.locks.acquire('a');
    const authorization = `Basic ${Buffer.from('ann\nbob\u001b[2J:secret').toString('base64')}`;
    await server.release({ key: 'a', fencingToken }, { ...OWN, authorization });
    expect(warn.mock.calls.map(([line]) => line)).toContainEqual(
      expect.stringMatching(/^"a" was released by force by ann\\u000abob\\u001b\[2J of the dashboard of /),
    );
  });

  it('accepts a release from its own origin', async () => {
    const server = await serve(bench, { readOnly: false }, { adapter });
    const { fencingToken } = await server.locks.acquire('a');
    const { origin } = new URL(server.url);
    expect((await server.release({ key: 'a', fencingToken }, { ...OWN, origin })).body).toEqual({
      outcome: 'released',
    });
  });

  it('refuses an invalid request', async () => {
    const server = await serve(bench, { readOnly: false }, { adapter });
    for (const order of [{}, { key: 'a' }, { key: 7, fencingToken: 1 }, [], { key: '', fencingToken: 1 }])
      expect((await server.release(order)).status).toBe(400);
  });

  it('refuses scripts of other origins if the browser sends no site, and CORS is open', async () => {
    const server = await serve(
      bench,
      {},
      { adapter, prepare: (app) => app.enableCors({ origin: true, credentials: true }) },
    );
    const { origin } = new URL(server.url);
    for (const path of ['/state', '/events']) {
      for (const foreign of ['https://evil.example', 'null', 'http://127.0.0.1:1', 'nonsense']) {
        const response = await server.get(path, { origin: foreign });
        expect([path, foreign, response.status]).toEqual([path, foreign, 403]);
        expect(await response.text()).not.toContain('locks');
      }
    }
    expect((await server.get('/state', { origin })).status).toBe(200);
    expect((await server.get('/state')).status).toBe(200);
  });

  it('refuses scripts of other origins', async () => {
    const server = await serve(bench, {}, { adapter });
    for (const path of ['/state', '/events'])
      expect((await server.get(path, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  });

  it('works behind prefixes, versions and interceptors', async () => {
    const prepare = (app: { setGlobalPrefix(prefix: string): void; enableVersioning(): void }) => {
      app.setGlobalPrefix('api');
      app.enableVersioning();
    };
    const metadata = { providers: [{ provide: APP_INTERCEPTOR, useClass: Wrapping }] };
    const server = await serve(
      bench,
      { path: '/admin/locks/' },
      { adapter, metadata, prepare, at: '/api/admin/locks' },
    );
    expect(await (await server.get('')).text()).toMatch(/^<!doctype html>/i);
    expect(await server.state()).toMatchObject({ instance: 'default' });
    await using stream = await Stream.open(server);
    await stream.until(({ instance }) => instance === 'default');
  });

  it('lets the application shut down while a viewer is connected', async () => {
    const server = await serve(bench, {}, { adapter, forceCloseConnections: false });
    await using stream = await Stream.open(server);
    await stream.until(() => true);
    await server.app.close();
    await eventually(() => stream.ended);
  });
});

describe('the dashboard', () => {
  it('reports holders and waiters of all processes', async () => {
    const server = await serve(bench, {});
    const { locks: own } = server;
    const other = await bench.other();
    const lock = await own.acquire('stock:42', { owner: 'ann' });
    await other.acquire('prices', { kind: 'read' });
    const waiting = other.acquire('stock:42');
    await bench.untilWaiting('stock:42', 1);
    const { locks, process: where, instance, readOnly } = await server.state();
    expect({ instance, readOnly, where }).toMatchObject({
      ...{ instance: 'default', readOnly: true },
      where: { pid: process.pid, client: own.clientId },
    });
    expect(locks).toMatchObject({
      matching: 2,
      totals: { locks: 2, holding: 2, waiting: 1, capped: false, complete: true },
    });
    expect(locks.list).toMatchObject([
      {
        ...{ key: 'stock:42', fencingToken: lock.fencingToken, holding: 1, waiting: 1 },
        holders: [{ name: 'ann', client: own.clientId, kind: 'exclusive', fencingToken: lock.fencingToken }],
        waiters: [{ client: other.clientId, kind: 'exclusive' }],
      },
      { key: 'prices', holding: 1, waiting: 0, holders: [{ kind: 'read', client: other.clientId }] },
    ]);
    const [holder] = locks.list[0]!.holders;
    expect(holder!.lease).toBeGreaterThan(20_000);
    expect(holder!.age).toBeGreaterThanOrEqual(0);
    expect(holder!.age).toBeLessThan(10_000);
    await expectHandoff(lock, waiting);
  });

  it('releases very many holds with few commands', async () => {
    const server = await serve(bench, { readOnly: false });
    const other = await bench.other();
    const readers = await Promise.all(Array.from({ length: 300 }, () => other.acquire('a', ALONE)));
    const order = { key: 'a', fencingToken: (await server.state()).locks.list[0]!.fencingToken };
    await bench.redis.admin.config('RESETSTAT');
    expect((await server.release(order)).body).toEqual({ outcome: 'released' });
    expect((await bench.redis.commandStats())['evalsha']).toBeLessThan(60);
    await eventually(() => readers.every(({ signal }) => signal.aborted));
  });

  it('refuses a release of one hold that has ended since the page showed it', async () => {
    const server = await serve(bench, { readOnly: false });
    const other = await bench.other();
    const [first, second] = [await other.acquire('a', ALONE), await other.acquire('a', ALONE)];
    const [{ holders } = { holders: [] }] = (await server.state()).locks.list;
    const { id, fencingToken } = holders.find((each) => each.fencingToken === first.fencingToken)!;
    await first.release();
    const stale = { key: 'a', fencingToken, hold: id };
    const remaining = { holding: 1, fencingToken: second.fencingToken };
    expect(await server.release(stale)).toMatchObject({ status: 409, body: { outcome: 'changed', lock: remaining } });
    await second.verify();
    await second.release();
    expect(await server.release(stale)).toEqual({ status: 200, body: { outcome: 'free' } });
  });

  it('ends no later hold if the lock changes hands while the release is under way', async () => {
    await using proxy = await RespProxy.start(bench.redis);
    const server = await serve(bench, { readOnly: false }, { module: { connection: proxy.url } });
    const [holder, other] = [await bench.other(), await bench.other()];
    const warm = await other.acquire('warm');
    await server.release({ key: 'warm', fencingToken: warm.fencingToken });
    const lock = await holder.acquire('a');
    const waiting = other.acquire('a');
    await bench.untilWaiting('a', 1);
    // The first look passes. What follows it waits.
    let looks = 0;
    const held = deferred();
    const stop = proxy.onCommand(({ args }) => {
      const isOf = ({ sha1 }: { readonly sha1: string }): boolean => args[0] === sha1;
      if (!args.some((arg) => arg.includes('{a}'))) return;
      if (isOf(SCRIPTS.forceRelease) || (isOf(SCRIPTS.inspect) && (looks += 1) === 2)) {
        proxy.holdRequests();
        held.resolve();
      }
    });
    const releasing = server.release({ key: 'a', fencingToken: lock.fencingToken });
    await held;
    stop();
    await lock.release();
    const next = await waiting;
    proxy.heal();
    expect(await releasing).toMatchObject({ status: 200, body: { outcome: 'free' } });
    await next.verify();
    expect(next.isHeld).toBe(true);
    expect(await next.release()).toBe(true);
  });

  it('counts a timeout as an incident with its holder, and a caller that does without the lock as none', async () => {
    const server = await serve(bench, {}, { module: { label: 'web:1' } });
    const { locks } = server;
    const other = await bench.other({ label: 'jobs:2' });
    await using _held = await other.acquire('a');
    // Before a caller waits, so that its event has the label of the holder and not the id.
    await eventually(async () => (await locks.inspect('a'))?.holders[0]?.label === 'jobs:2');
    expect(await locks.tryAcquire('a')).toBeNull();
    await expect(locks.acquire('a', { waitTimeout: 0 })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    const { activity } = await server.state();
    expect(activity.incidents).toMatchObject([{ type: 'timeout', key: 'a', label: 'web:1', holder: 'jobs:2' }]);
    expect(activity.timeouts.reduce((sum, each) => sum + each)).toBe(1);
  });

  it('shows the locks beside foreign data, and names the skipped key', async () => {
    const server = await serve(bench, {});
    await bench.redis.admin.set('lock:state:{foreign}', 'text', 'EX', 60);
    await bench.redis.admin.hset('lock:state:{mode}', 'x:1', `sideways held ${Date.now() + 60_000} 1 1 owner`);
    await bench.redis.admin.pexpire('lock:state:{mode}', 60_000);
    const held = await server.locks.acquire('held');
    const { locks } = await server.state();
    expect(locks.list.map(({ key }) => key)).toEqual(['held']);
    expect(locks.trouble).toBeUndefined();
    expect(locks.skipped).toMatch(/"foreign".*WRONGTYPE/);
    expect(locks.skipped).toContain('"mode"');
    await held.release();
  });

  it("requires guards, or an explicit 'none'", () => {
    for (const guards of [undefined, [], 'all', [undefined]] as never[])
      expect(() => RedisLockDashboardModule.forRoot({ guards })).toThrow(/guards: \[AdminGuard\]/);
    RedisLockDashboardModule.forRoot({ guards: 'none' });
  });

  it.each([
    [{ path: 'a/:id' }, /path/],
    [{ path: '..' }, /path/],
    [{ refresh: 10 }, /refresh/],
    [{ limit: 0 }, /limit/],
    [{ readOnly: 'yes' }, /readOnly/],
    [{ instance: [] }, /instance/],
    [{ pathh: 'x' }, /did you mean 'path'/],
  ])('refuses %p', (options, message) => {
    expect(() => RedisLockDashboardModule.forRoot({ guards: 'none', ...options } as never)).toThrow(message);
  });

  it('is read only without guards, unless an option says otherwise', async () => {
    const server = await serve(bench, {});
    const lock = await server.locks.acquire('a');
    expect(await server.release({ key: 'a', fencingToken: lock.fencingToken })).toEqual({
      status: 403,
      body: { outcome: 'read-only' },
    });
    expect(lock.isHeld).toBe(true);
  });

  it('accepts settings from other providers', async () => {
    const imports = [
      RedisLockDashboardModule.forRootAsync({
        ...{ guards: 'none', imports: [AccountsModule], inject: [Accounts] },
        useFactory: ({ operators }: Accounts) => ({ readOnly: operators.length === 0 }),
        path: 'more',
      }),
    ];
    const server = await serve(bench, {}, { metadata: { imports } });
    const more = (await (await fetch(server.url.replace('locks', 'more/state'))).json()) as { readOnly: boolean };
    expect([more.readOnly, (await server.state()).readOnly]).toEqual([false, true]);
    const early = { guards: 'none', useFactory: () => ({ path: 'x' }) } as const;
    const { module: type, ...rest } = RedisLockDashboardModule.forRootAsync(early as never);
    await expect(bench.boot({ imports: [{ module: type, ...rest }] })).rejects.toThrow(
      'RedisLockDashboardModule.forRootAsync, from its factory, has no option "path": write it beside the factory',
    );
  });

  it('shows several instances, by name', async () => {
    const jobs = bench.locks({ instance: 'jobs', keyPrefix: 'jobs', shutdownTimeout: 0 });
    const server = await serve(bench, {}, { metadata: { imports: [jobs] } });
    await server.app.get<LockService>(getLockServiceToken('jobs')).tryAcquire('nightly', { expire: '1m' });
    const [first, named] = [await server.state(), await server.state('?instance=jobs')];
    expect(first).toMatchObject({ instance: 'default', instances: ['default', 'jobs'], locks: { list: [] } });
    expect(named).toMatchObject({ instance: 'jobs', locks: { list: [{ key: 'nightly' }] } });
    expect((await server.get('/state?instance=none')).status).toBe(404);
    const only = await serve(bench, { instance: 'jobs' }, { metadata: { imports: [jobs] } });
    expect((await only.state()).instances).toEqual(['jobs']);
    await expect(serve(bench, { instance: 'none' })).rejects.toThrow("there is no RedisLockModule named 'none'");
  });

  it('queries Redis once for all viewers, and not at all without viewers', async () => {
    const server = await serve(bench, { refresh: 500 });
    await bench.redis.resetCommandStats();
    const scans = async () => (await bench.redis.commandStats())['scan'] ?? 0;
    expect(await scans()).toBe(0);
    const since = performance.now();
    await Promise.all(Array.from({ length: 10 }, () => server.state()));
    const first = await scans();
    expect(first).toBeLessThanOrEqual(1 + (performance.now() - since) / 500);
    const streams = await Promise.all(Array.from({ length: 5 }, () => Stream.open(server)));
    await Promise.all(streams.map((stream) => eventually(() => stream.states.length >= 3)));
    const asked = (await scans()) - first;
    expect(asked).toBeLessThanOrEqual(Math.max(...streams.map(({ states }) => states.length)) + 1);
    await Promise.all(streams.map((stream) => stream[Symbol.asyncDispose]()));
    await eventually(async () => {
      const before = await scans();
      await new Promise((resolve) => setTimeout(resolve, 700));
      return (await scans()) === before;
    });
  });

  it('counts all locks, and filters and sorts all of them, however few it shows', async () => {
    const server = await serve(bench, { limit: 3 });
    const { locks } = server;
    const keys = ['a', 'b', 'c', 'd', 'e'];
    for (const key of keys) {
      await locks.acquire(key, { owner: `owner-of-${key}` });
      // The times of Redis are whole ms.
      const since = Date.now();
      await eventually(() => Date.now() > since + 1);
    }
    const other = await bench.other();
    const waiting = other.acquire('d', { waitTimeout: '1m' });
    waiting.catch(() => undefined);
    await bench.untilWaiting('d', 1);
    const shown = async (query: string) => {
      const { list, ...rest } = (await server.state(query)).locks;
      return { keys: list.map(({ key }) => key), ...rest };
    };
    await eventuallyPasses(async () => {
      const seen = await shown('');
      expect(seen).toMatchObject({
        limit: 3,
        matching: 5,
        totals: { locks: 5, holding: 5, waiting: 1, complete: true },
      });
      // The lock with a waiter, then the locks that are held longest.
      expect(seen.keys).toEqual(['d', 'a', 'b']);
    });
    expect((await shown('')).totals.age).toBeLessThan(60_000);
    expect((await shown('?sort=key&descending=1')).keys).toEqual(['e', 'd', 'c']);
    expect((await shown('?sort=age')).keys).toEqual(['e', 'd', 'c']);
    expect(await shown('?filter=OF-e%20exclusive')).toMatchObject({ keys: ['e'], matching: 1, totals: { locks: 5 } });
    expect(await shown('?filter=none&sort=constructor')).toMatchObject({ keys: [], matching: 0 });
  });

  it('says which permission is missing', async () => {
    const server = await serve(bench, {});
    await bench.redis.admin.acl('SETUSER', 'default', '-scan');
    try {
      expect((await server.state()).locks.trouble!.message).toMatch(/lacks a permission.*scan/);
    } finally {
      await bench.redis.admin.acl('SETUSER', 'default', '+scan');
    }
  });

  it('shows locks in memory', async () => {
    const server = await serve(bench, {}, { module: { store: 'memory', keyPrefix: 'dashboard' } });
    const lock = await server.locks.acquire('a');
    expect((await server.state()).locks).toMatchObject({ totals: { complete: true }, list: [{ key: 'a' }] });
    await lock.release();
  });

  it('collects nothing if it is not imported', async () => {
    const isObserved = (service: any): boolean => service.context.events.sink.observed;
    const app = await bench.boot();
    expect(isObserved(app.get(LockService))).toBe(false);
    const server = await serve(bench, {});
    const { locks } = server;
    expect(isObserved(locks)).toBe(true);
    await server.app.close();
    expect(isObserved(locks)).toBe(false);
  });
});
