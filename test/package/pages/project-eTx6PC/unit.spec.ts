// unit.spec.ts
import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { DistributedLock, getLockServiceToken } from 'nestjs-redis-locks';
import { LockTesting } from 'nestjs-redis-locks/testing';

@Injectable()
class Counter {
  @DistributedLock({ key: 'counter' })
  async next(): Promise<number> {
    return 1;
  }
}

it('locks an object that Nest did not create', async () => {
  await using testing = new LockTesting();
  const counter = testing.withLocks(new Counter());
  await counter.next();
  expect(testing.acquisitions.count('counter')).toBe(1);
});

it('runs the method without a lock', async () => {
  const locks = { run: async (_key: string, task: () => unknown) => task() };
  const module = await Test.createTestingModule({
    providers: [Counter, { provide: getLockServiceToken(), useValue: locks }],
  }).compile();
  await module.init();
  expect(await module.get(Counter).next()).toBe(1);
});
