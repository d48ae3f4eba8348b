import { Controller, Get, Injectable, type INestApplication } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DistributedLock, LockService, UseLock } from 'nestjs-redis-locks';
import type { LockDefaults } from '../../../lib/module/redis-lock.options.js';
import { lastValueFrom, of, tap, type Observable } from 'rxjs';
import { eventuallyPasses } from '../../../lab/testbed/wait/eventually.mjs';
import { redisKey } from '../../../lab/testbed/locks/redis-key.mjs';
import { RespProxy } from '../../../lab/testbed/proxies/resp-proxy.mjs';
import { NestBench } from './support.js';

const bench = new NestBench();
let proxy: RespProxy;

beforeEach(async () => {
  proxy = await RespProxy.start(bench.redis);
});
afterEach(() => proxy.close());

/** From now on no call gets an answer of Redis. */
const silence = (): void => proxy.holdReplies();

@Injectable()
@Controller()
class Jobs {
  @DistributedLock({ key: 'promise', release: 'background' })
  async promise(): Promise<string> {
    silence();
    return 'done';
  }

  @DistributedLock({ key: 'observable', release: 'background', returns: 'observable' })
  observable(): Observable<string> {
    return of('done').pipe(tap(silence));
  }

  @DistributedLock({ key: 'default' })
  async byDefault(): Promise<string> {
    silence();
    return 'done';
  }

  @Get('handler')
  @UseLock({ key: 'handler', release: 'background' })
  handler(): string {
    silence();
    return 'done';
  }
}

async function start(defaults: LockDefaults = {}): Promise<INestApplication> {
  const module = await bench.build({ controllers: [Jobs] }, { connection: proxy.url, defaults }).compile();
  const app = module.createNestApplication(new ExpressAdapter(), { logger: false });
  bench.closeLater(app);
  await app.listen(0, '127.0.0.1');
  // The server knows the scripts from here on.
  await app.get(LockService).run('warm', () => undefined);
  return app;
}

/** The release has reached Redis, although no answer has come back. */
const released = (key: string): Promise<void> =>
  eventuallyPasses(async () => expect(await bench.redis.admin.exists(redisKey('state', key))).toBe(0));

describe("release: 'background'", () => {
  it.each<[string, LockDefaults | undefined, string, (app: INestApplication) => Promise<unknown>]>([
    ['a method that returns a promise', undefined, 'promise', (app) => app.get(Jobs).promise()],
    [
      'a method that returns an Observable',
      undefined,
      'observable',
      (app) => lastValueFrom(app.get(Jobs).observable()),
    ],
    ['one by the default', { release: 'background' }, 'default', (app) => app.get(Jobs).byDefault()],
    ['a request handler', undefined, 'handler', async (app) => (await fetch(`${await app.getUrl()}/handler`)).text()],
  ])('%s answers before Redis has answered its release', async (_what, defaults, key, call) => {
    const app = await start(defaults);
    expect(await call(app)).toBe('done');
    await released(key);
    proxy.heal();
  });
});
