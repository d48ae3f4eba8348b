import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SchedulerRegistry } from '@nestjs/schedule';
import { eventually } from '../support/eventually.js';
import { newAccount, useReplicas, whileHeld, type Replica } from '../support/replicas.js';
import { MonthEndJob } from './month-end.job.js';
import { JobsModule } from './schedule.module.js';

describe('jobs on a schedule', () => {
  const account = newAccount();
  const replicas = useReplicas(JobsModule, {
    prepare: async (app) => {
      app.get(MonthEndJob).account = account;
    },
  });

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

  // The last test, because the job of the fees, which never rests, follows to the new account in the midst of a run.
  it('do nothing, and fail nothing, while another replica runs the job', async () => {
    const [first, second] = replicas;
    const job = second.app.get(MonthEndJob);
    job.account = newAccount();
    await whileHeld(first, `job:interest:${job.account}`, async () => {
      assert.equal(await job.payInterest(), undefined);
    });
    assert.equal(await job.payInterest(), 5);
  });
});
