import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { SchedulerRegistry } from '@nestjs/schedule';
import { eventually } from '../support/eventually.js';
import { newAccount, useReplicas, whileHeld, type Replica } from '../support/replicas.js';
import { MonthEndJob } from './month-end.job.js';
import { JobsModule } from './schedule.module.js';

describe('jobs on a schedule', () => {
  const replicas = useReplicas(JobsModule);
  const account = newAccount();
  before(() => replicas.forEach(({ app }) => (app.get(MonthEndJob).account = account)));

  /** As the schedule does it. */
  const tick = async ({ app }: Replica): Promise<void> => {
    await app.get(SchedulerRegistry).getCronJob('interest').fireOnTick();
  };

  it('run once, though the schedule of every replica has come, and of one of them late', async () => {
    await Promise.all(replicas.map(tick));
    await eventually(async () => (await replicas[0].accounts.balance(account)) > 0);
    assert.equal(await replicas[1].app.get(MonthEndJob).payInterest(), undefined);
    assert.equal(await replicas[0].accounts.balance(account), 5);
  });

  it('do nothing, and fail nothing, while somebody else is at it', async () => {
    const [first, second] = replicas;
    const job = second.app.get(MonthEndJob);
    // Not in the midst of the other job, which would go on with another account.
    const turnTo = (next: string) =>
      whileHeld(second, `job:fees:${job.account}`, async () => {
        job.account = next;
      });
    await turnTo(newAccount());
    await whileHeld(first, `job:interest:${job.account}`, async () => {
      assert.equal(await job.payInterest(), undefined);
    });
    assert.equal(await job.payInterest(), 5);
    await turnTo(account);
  });

  it('may come again before they are done: never two at once', async () => {
    const key = `job:fees:${account}`;
    let runs = 0;
    for (const { locks } of replicas) {
      locks.events.subscribe((event) => (runs += event.type === 'acquired' && event.key === key ? 1 : 0));
    }
    const [{ accounts }] = replicas;
    const paid = await whileHeld(replicas[0], key, () => {
      // Here no job runs. After the release, one may have begun already.
      runs = 0;
      return accounts.balance(`${account}:fees`);
    });
    await eventually(() => runs >= 10);
    await whileHeld(replicas[0], key, async () => {
      // This one is no run of the job. Two runs at once would have lost some of each other's fees.
      assert.equal(await accounts.balance(`${account}:fees`), paid + 3 * (runs - 1));
    });
  });
});
