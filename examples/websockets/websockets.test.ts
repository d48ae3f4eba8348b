import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { io, type Socket } from 'socket.io-client';
import { newAccount, spread, useReplicas, whileHeld } from '../support/replicas.js';
import type { Change } from './accounts.gateway.js';
import { WebsocketModule } from './websocket.module.js';

describe('WebSocket gateways', () => {
  const replicas = useReplicas(WebsocketModule);
  let sockets: Socket[];

  before(async () => {
    sockets = replicas.map(({ url }) => io(url, { transports: ['websocket'] }));
    await Promise.all(sockets.map((socket) => once(socket as never, 'connect')));
  });
  after(() => sockets.forEach((socket) => socket.close()));

  const send = (socket: Socket, message: string, change: Change): Promise<number> =>
    socket.timeout(10_000).emitWithAck(message, change) as Promise<number>;

  it('lose no deposit, whichever replica is asked', async () => {
    const id = newAccount();
    await spread(sockets, 20, (socket) => send(socket, 'deposit', { id, amount: 5 }));
    assert.equal(await replicas[0].accounts.balance(id), 100);
  });

  it('send an exception with a code if another caller holds the account', async () => {
    const id = newAccount();
    await whileHeld(replicas[0], `account:${id}`, async () => {
      const exception = once(sockets[1] as never, 'exception', { signal: AbortSignal.timeout(10_000) });
      sockets[1]!.emit('withdraw', { id, amount: 5 });
      const [answer] = (await exception) as [Record<string, unknown>];
      assert.equal(answer['status'], 'error');
      assert.equal(answer['code'], 'LOCK_TIMEOUT');
      assert.ok(!JSON.stringify(answer).includes(id));
    });
    assert.equal(await send(sockets[1]!, 'withdraw', { id, amount: 5 }), -5);
  });
});
