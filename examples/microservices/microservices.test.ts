import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { ClientProxyFactory, Transport, type ClientProxy } from '@nestjs/microservices';
import { firstValueFrom } from 'rxjs';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { newAccount, spread, useReplicas, whileHeld } from '../support/replicas.js';
import type { Change } from './accounts.controller.js';
import { MicroserviceModule } from './microservice.module.js';

describe('handlers of a microservice over TCP', () => {
  const clients: ClientProxy[] = [];
  const replicas = useReplicas(MicroserviceModule, {
    prepare: async (app) => {
      const options = { host: '127.0.0.1', port: await freePort() };
      app.connectMicroservice({ transport: Transport.TCP, options });
      await app.startAllMicroservices();
      clients.push(ClientProxyFactory.create({ transport: Transport.TCP, options }));
    },
  });
  after(() => Promise.all(clients.map((client) => client.close())));

  const send = (client: ClientProxy, pattern: string, change: Change): Promise<number> =>
    firstValueFrom(client.send<number, Change>(pattern, change));

  it('lose no deposit, whichever replica is asked', async () => {
    const id = newAccount();
    await spread(clients, 20, (client) => send(client, 'deposit', { id, amount: 5 }));
    assert.equal(await replicas[0].accounts.balance(id), 100);
  });

  it('give the client an error with a code if another caller holds the account', async () => {
    const id = newAccount();
    await whileHeld(replicas[0], `account:${id}`, async () => {
      await assert.rejects(send(clients[1]!, 'withdraw', { id, amount: 5 }), (error: Record<string, unknown>) => {
        assert.equal(error['status'], 'error');
        assert.equal(error['code'], 'LOCK_TIMEOUT');
        assert.equal(typeof error['message'], 'string');
        assert.ok(!JSON.stringify(error).includes(id));
        return true;
      });
    });
    assert.equal(await send(clients[1]!, 'withdraw', { id, amount: 5 }), -5);
  });

  it('handle an event once that all replicas hear', async () => {
    const id = newAccount();
    await Promise.all(
      clients.map((client) => firstValueFrom(client.emit('month.ended', { id, amount: 5 }), { defaultValue: 0 })),
    );
    await eventually(async () => (await replicas[0].accounts.balance(id)) > 0);
    // Messages of one connection arrive in order: when these are answered, the events have been handled.
    await spread(clients, 2, (client) => send(client, 'deposit', { id, amount: 1 }));
    assert.equal(await replicas[0].accounts.balance(id), 7);
  });
});
