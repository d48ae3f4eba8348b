import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { eventually } from '../support/eventually.js';
import { newAccount, spread, useReplicas, whileHeld } from '../support/replicas.js';
import { HttpModule } from './http.module.js';

const post = (url: string, amount: unknown, signal?: AbortSignal): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ amount }),
    ...(signal && { signal }),
  });

for (const [name, adapter] of [
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
] as const) {
  describe(`HTTP on ${name}`, () => {
    const replicas = useReplicas(HttpModule, { adapter });

    it('loses no deposit, whichever replica is asked', async () => {
      const account = newAccount();
      const answers = await spread(replicas, 20, ({ url }) => post(`${url}/accounts/${account}/deposits`, 5));
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
      assert.equal(await replicas[0].accounts.balance(account), 100);
    });

    it('answers 423 if another caller holds the account, and does not run', async () => {
      const account = newAccount();
      const [first, second] = replicas;
      await whileHeld(first, `account:${account}`, async () => {
        const answer = await post(`${second.url}/accounts/${account}/withdrawals`, 5);
        assert.equal(answer.status, 423);
        assert.equal(answer.headers.get('retry-after'), '1');
        assert.equal(((await answer.json()) as { code: string }).code, 'LOCK_TIMEOUT');
      });
      assert.equal(await first.accounts.balance(account), 0);
      assert.equal((await post(`${second.url}/accounts/${account}/withdrawals`, 5)).status, 201);
    });

    it('lets pipes refuse as usual, and releases the lock', async () => {
      const account = newAccount();
      const [{ url, locks }] = replicas;
      for (const path of ['deposits', 'withdrawals']) {
        assert.equal((await post(`${url}/accounts/${account}/${path}`, 'much')).status, 400);
      }
      assert.equal(await locks.getLock(`account:${account}`).isLocked(), false);
    });

    it('a client that goes away while it waits leaves the queue', async () => {
      const account = newAccount();
      const key = `account:${account}`;
      const [first, second] = replicas;
      await whileHeld(first, key, async () => {
        const client = new AbortController();
        const answer = post(`${second.url}/accounts/${account}/deposits`, 5, client.signal);
        await eventually(async () => (await first.locks.inspect(key))?.waiters.length === 1);
        client.abort();
        await assert.rejects(answer, { name: 'AbortError' });
        await eventually(async () => (await first.locks.inspect(key))?.waiters.length === 0);
      });
      assert.equal(await first.accounts.balance(account), 0);
    });
  });
}
