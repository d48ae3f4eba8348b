import { EventEmitter } from 'node:events';
import { expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { ShardSubscriber } from '../../../lib/store/redis/shard-subscriber.js';

/** The connection of a client that never answers a subscription. It has the options of ioredis 5. */
class Unanswered extends EventEmitter {
  readonly options = {};
  readonly connect = async (): Promise<void> => undefined;
  readonly info = async (): Promise<string> => 'role:master';
  readonly subscribe = (): Promise<unknown> => new Promise(() => undefined);
  sent = 0;
  readonly ssubscribe = (): Promise<unknown> => {
    this.sent += 1;
    return new Promise(() => undefined);
  };
  readonly disconnect = (): void => undefined;
  readonly select = async (): Promise<void> => undefined;
}

function open(): { line: ShardSubscriber; client: Unanswered } {
  const client = new Unanswered();
  const template = { options: {}, duplicate: () => client } as unknown as Redis;
  const observer = { message: () => undefined, departed: () => undefined, ended: () => undefined };
  return { line: new ShardSubscriber('127.0.0.1:1', template, observer, async () => undefined), client };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('a subscription fails that the server answers with MOVED, although ioredis 5 never settles the command', async () => {
  const { line, client } = open();
  const subscription = line.subscribeInSlot('a');
  subscription.catch(() => undefined);
  await turn();
  client.emit('moved');
  await expect(subscription).rejects.toThrow('has ended');
  expect(line.isOver).toBe(true);
});

it('all subscriptions under way fail with the end of their connection', async () => {
  const { line, client } = open();
  const subscriptions = Promise.allSettled([line.subscribeInSlot('a'), line.subscribeInSlot('b'), line.subscribe('c')]);
  await turn();
  client.emit('error', new Error('read ECONNRESET'));
  for (const { status } of await subscriptions) expect(status).toBe('rejected');
});

it('very many subscriptions go out in several turns of the event loop', async () => {
  const { line, client } = open();
  const subscriptions = Array.from({ length: 250 }, (_, i) => line.subscribeInSlot(`${i}`));
  const sent: number[] = [];
  while (client.sent < 250) {
    await turn();
    sent.push(client.sent);
  }
  expect(sent.filter((count, i) => count > (sent[i - 1] ?? 0) + 200)).toEqual([]);
  expect(sent.length).toBeGreaterThanOrEqual(2);
  line.end();
  await Promise.allSettled(subscriptions);
});
