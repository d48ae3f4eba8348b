import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { getQueueToken } from '@nestjs/bullmq';
import { NestFactory } from '@nestjs/core';
import { QueueEvents, type Queue } from 'bullmq';
import { REDIS_URL } from '../support/accounts.js';
import { eventually } from '../support/eventually.js';
import { newAccount, useReplicas, whileHeld } from '../support/replicas.js';
import { PayoutsModule } from './bullmq.module.js';
import type { Payout } from './payouts.processor.js';

describe('BullMQ processors', () => {
  const replicas = useReplicas(PayoutsModule);
  let queue: Queue<Payout>;
  let events: QueueEvents;

  before(async () => {
    queue = replicas[0].app.get<Queue<Payout>>(getQueueToken('payouts'));
    queue.setMaxListeners(300); // one for each job that is awaited
    events = new QueueEvents('payouts', { connection: { url: REDIS_URL } });
    await events.waitUntilReady();
  });
  after(() => events.close());

  it('do the jobs of one account one after the other, on all workers of all replicas', async () => {
    const account = newAccount();
    const jobs = await queue.addBulk(
      Array.from({ length: 20 }, () => ({ name: 'payout', data: { account, amount: 5 } })),
    );
    await Promise.all(jobs.map((job) => job.waitUntilFinished(events, 20_000)));
    assert.equal(await replicas[0].accounts.balance(account), -100);
  });

  it('put back a job whose account is locked: no attempt is used up, and other jobs continue', async () => {
    const [taken, free] = [newAccount(), newAccount()];
    const job = await whileHeld(replicas[0], `account:${taken}`, async () => {
      const waiting = await queue.add('payout', { account: taken, amount: 5 });
      await eventually(() => waiting.isDelayed());
      const other = await queue.add('payout', { account: free, amount: 5 });
      assert.equal(await other.waitUntilFinished(events, 20_000), -5);
      assert.equal(await replicas[0].accounts.balance(taken), 0);
      return waiting;
    });
    assert.equal(await job.waitUntilFinished(events, 20_000), -5);
    assert.equal((await queue.getJob(job.id!))?.attemptsMade, 1);
  });

  it('take no job that finds the locks closed, while their application shuts down', async () => {
    const app = await NestFactory.createApplicationContext(PayoutsModule, { logger: ['error'] });
    const data = Array.from({ length: 200 }, () => ({ name: 'payout', data: { account: newAccount(), amount: 5 } }));
    const jobs = await queue.addBulk(data);
    await app.close();
    await Promise.all(jobs.map((job) => job.waitUntilFinished(events, 20_000)));
    assert.equal(await queue.getFailedCount(), 0);
  });
});
