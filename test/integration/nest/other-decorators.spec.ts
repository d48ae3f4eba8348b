import { Injectable } from '@nestjs/common';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { Cron, Interval, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { describe, expect, it } from '@jest/globals';
import { findCurrentLock, DistributedLock } from 'nestjs-redis-locks';
import { deferred } from '../../../lab/testbed/wait/deferred.js';
import { NestBench } from './support.js';

const bench = new NestBench();
/** The keys under which something ran. */
let ran = deferred<string | undefined>();
const tell = (): void => ran.resolve(findCurrentLock()?.key);

const FAR = '0 0 1 1 *';

@Injectable()
class Jobs {
  @Cron(FAR, { name: 'above' })
  @DistributedLock('cron:above')
  async above(): Promise<void> {
    tell();
  }

  @DistributedLock('cron:below')
  @Cron(FAR, { name: 'below' })
  async below(): Promise<void> {
    tell();
  }

  @DistributedLock('interval')
  @Interval('often', 20)
  async often(): Promise<void> {
    tell();
  }

  @OnEvent('event.above')
  @DistributedLock('event:#{#event.id}')
  async onAbove(event: { id: number }): Promise<void> {
    if (event.id > 0) tell();
  }

  @DistributedLock('event:#{#event.id}')
  @OnEvent('event.below')
  async onBelow(event: { id: number }): Promise<void> {
    if (event.id > 0) tell();
  }
}

const boot = (providers: any[] = [Jobs]) => {
  ran = deferred();
  return bench.boot({ imports: [ScheduleModule.forRoot(), EventEmitterModule.forRoot()], providers });
};

describe('other decorators on a locked method', () => {
  it.each(['above', 'below'])('@Cron %s', async (where) => {
    const app = await boot();
    void app.get(SchedulerRegistry).getCronJob(where).fireOnTick();
    expect(await ran).toBe(`cron:${where}`);
  });

  it('@Interval', async () => {
    await boot();
    expect(await ran).toBe('interval');
  });

  it.each(['above', 'below'])('@OnEvent %s', async (where) => {
    const app = await boot();
    app.get(EventEmitter2).emit(`event.${where}`, { id: 7 });
    expect(await ran).toBe('event:7');
  });

  it('@Cron on an instance from useFactory', async () => {
    const app = await boot([{ provide: Jobs, useFactory: () => new Jobs() }]);
    void app.get(SchedulerRegistry).getCronJob('above').fireOnTick();
    expect(await ran).toBe('cron:above');
  });
});
