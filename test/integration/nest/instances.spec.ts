import { Inject, Injectable, Module, Scope } from '@nestjs/common';
import { ContextIdFactory, LazyModuleLoader } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import { findCurrentLock, DistributedLock } from 'nestjs-redis-locks';
import { NestBench } from './support.js';

const bench = new NestBench();
const held = async (): Promise<string | undefined> => findCurrentLock()?.key;

@Injectable()
class Plain {
  @DistributedLock('plain')
  work(): Promise<string | undefined> {
    return held();
  }
}

describe('instances with locked methods', () => {
  it.each([
    ['request-scoped', Scope.REQUEST],
    ['transient', Scope.TRANSIENT],
  ])('%s', async (_name, scope) => {
    @Injectable({ scope })
    class Jobs {
      @DistributedLock('jobs')
      work(): Promise<string | undefined> {
        return held();
      }
    }
    const app = await bench.boot({ providers: [Jobs] });
    const [one, two] = [await app.resolve(Jobs), await app.resolve(Jobs, ContextIdFactory.create())];
    expect(one).not.toBe(two);
    expect([await one.work(), await two.work()]).toEqual(['jobs', 'jobs']);
  });

  it('inherited from an abstract class by a class with its own injections and locks', async () => {
    abstract class Base {
      @DistributedLock('base:#{#this.name}')
      work(): Promise<string | undefined> {
        return held();
      }
    }
    @Injectable()
    class Child extends Base {
      readonly name = 'child';
      @Inject(Plain) readonly plain!: Plain;
      @DistributedLock('more')
      more(): Promise<string | undefined> {
        return held();
      }
    }
    const child = (await bench.boot({ providers: [Plain, Child] })).get(Child);
    expect([await child.work(), await child.more(), await child.plain.work()]).toEqual(['base:child', 'more', 'plain']);
  });

  it('overridden: a call of super re-enters', async () => {
    @Injectable()
    class Child extends Plain {
      @DistributedLock('plain')
      override async work(): Promise<string | undefined> {
        return `${await super.work()}, held ${findCurrentLock()?.holdCount}`;
      }
    }
    expect(await (await bench.make(Child)).work()).toBe('plain, held 1');
  });

  it.each([
    ['useFactory', { provide: Plain, useFactory: () => new Plain() }],
    ['useFactory, asynchronous', { provide: Plain, useFactory: async () => new Plain() }],
    ['useValue', { provide: Plain, useValue: new Plain() }],
    ['useClass under another token', { provide: 'plain', useClass: Plain }],
  ])('from %s', async (_name, provider) => {
    const app = await bench.boot({ providers: [provider] });
    expect(await app.get<Plain>(provider.provide).work()).toBe('plain');
  });

  it('from useFactory are ready when other modules are initialised', async () => {
    let key: string | undefined;
    @Module({ providers: [{ provide: Plain, useFactory: () => new Plain() }] })
    class Feature {
      constructor(private readonly plain: Plain) {}
      async onModuleInit(): Promise<void> {
        key = await this.plain.work();
      }
    }
    await bench.boot({ imports: [Feature] });
    expect(key).toBe('plain');
  });

  it('from useFactory for each request reject, and say what to do', async () => {
    const provider = { provide: Plain, useFactory: () => new Plain(), scope: Scope.REQUEST };
    const app = await bench.boot({ providers: [provider] });
    const plain = await app.resolve(Plain);
    await expect(plain.work()).rejects.toMatchObject({
      code: 'LOCK_CONFIG',
      message: expect.stringContaining('provide the class instead'),
    });
  });

  it('in a module that is loaded later', async () => {
    @Module({ providers: [Plain] })
    class Late {}
    const app = await bench.boot();
    const late = await app.get(LazyModuleLoader).load(() => Late);
    expect(await late.get(Plain).work()).toBe('plain');
  });

  it('reject if they are frozen, rather than running unlocked', async () => {
    const app = await bench.boot({ providers: [{ provide: Plain, useFactory: () => Object.freeze(new Plain()) }] });
    await expect(app.get(Plain).work()).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
  });
});
