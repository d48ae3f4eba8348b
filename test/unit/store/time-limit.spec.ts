import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { TimeLimit } from '../../../lib/store/redis/time-limit.js';
import { FakeClock } from '../../../lab/testbed/clocks/fake-clock.js';

const caller = new AsyncLocalStorage<string>();

/** The context in which a caller learns that its limit is over. */
const expiry = (limit: TimeLimit, name: string): Promise<string | undefined> =>
  caller.run(name, () => new Promise((resolve) => limit.begin(() => resolve(caller.getStore()))));

describe('a shared time limit', () => {
  it('does not expire in the async context of the call that started its timer', async () => {
    const limit = new TimeLimit(20);
    expect(await Promise.all([expiry(limit, 'ada'), expiry(limit, 'bob')])).toEqual([undefined, undefined]);
  });

  it('does not expire in the context of the call that restarted it', async () => {
    const limit = new TimeLimit(30);
    const first = expiry(limit, 'ada');
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await Promise.all([first, expiry(limit, 'bob')])).toEqual([undefined, undefined]);
  });

  it('does not expire for replies that arrived while the process was stalled', async () => {
    const server = createServer((socket) => socket.write('an answer')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
    await once(socket, 'connect');
    const limit = new TimeLimit(20);
    const first = await new Promise((resolve) => {
      const limited = limit.begin(() => resolve('over'));
      socket.once('data', () => {
        limit.end(limited);
        resolve('answered');
      });
      const end = performance.now() + 60;
      while (performance.now() < end);
    });
    socket.destroy();
    server.close();
    expect(first).toBe('answered');
  });

  it('expires in order, and not for operations that have ended', async () => {
    const limit = new TimeLimit(20);
    const over: string[] = [];
    await new Promise<void>((resolve) => {
      limit.begin(() => over.push('first'));
      limit.end(limit.begin(() => over.push('ended')));
      limit.begin(() => {
        over.push('last');
        resolve();
      });
    });
    expect(over).toEqual(['first', 'last']);
  });

  it('raises doubts while an operation has been pending for a second, and no earlier', async () => {
    const clock = new FakeClock();
    const since = clock.now();
    const doubts: number[] = [];
    const limit = new TimeLimit(1_600, clock, () => doubts.push(clock.now() - since));
    let expiredAt = 0;
    const soon = limit.begin(() => undefined);
    clock.stall(400);
    limit.begin(() => (expiredAt = clock.now() - since));
    limit.end(soon);
    clock.advance(3_000);
    expect(doubts).toEqual([1_400, 1_650, 1_900]);
    expect(expiredAt).toBe(2_000);
  });
});
