import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { TimerQueue } from '../../../lib/common/timer-queue.js';
import { systemClock } from '../../../lib/common/clock.js';
import { clearReadingTimer, setReadingTimer } from '../../../lib/common/reading-timer.js';
import { blockEventLoop } from '../../../lab/testbed/locks/locks.js';

const server = createServer();
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => void server.close());

/** The two ends of a connection. */
async function connected(): Promise<{ near: Socket; far: Socket }> {
  const near = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
  const [[far]] = (await Promise.all([once(server, 'connection'), once(near, 'connect')])) as [[Socket], unknown];
  return { near, far };
}

/**
 * Which of them comes first: an answer that arrives while the event loop is blocked, or the callback that `begin`
 * receives.
 */
async function firstOf(begin: (over: () => void) => void): Promise<string> {
  const { near, far } = await connected();
  const first = await new Promise<string>((resolve) => {
    near.once('data', () => resolve('answer'));
    // After an immediate, Node continues with its timers.
    setImmediate(() => {
      far.write('an answer');
      begin(() => resolve('timer'));
      blockEventLoop(30);
    });
  });
  near.destroy();
  return first;
}

const caller = new AsyncLocalStorage<string>();

describe('a timer that reads first', () => {
  it('fires after messages that arrived while the event loop was blocked', async () => {
    expect(await firstOf((over) => setReadingTimer(10, over))).toBe('answer');
    expect(await firstOf((over) => systemClock.setTimer(10, over))).toBe('answer');
  });

  it('fires after replies if it falls due while others are read', async () => {
    const timers = new TimerQueue(systemClock);
    const [one, other] = [await connected(), await connected()];
    const first = await new Promise<string>((resolve) => {
      one.near.once('data', () => {
        other.far.write('an answer');
        blockEventLoop(30);
      });
      other.near.once('data', () => resolve('answer'));
      setImmediate(() => {
        one.far.write('an answer');
        const since = systemClock.now();
        // Its timer is over, and so is the limit before its callback runs.
        timers.add(since + 5, () => undefined);
        timers.addLimit(since + 25, () => resolve('limit'));
        blockEventLoop(10);
      });
    });
    for (const { near } of [one, other]) near.destroy();
    expect(first).toBe('answer');
  });

  it('does not fire after it is cleared, even past its time', async () => {
    const called: string[] = [];
    const early = setReadingTimer(1, () => called.push('early'));
    clearReadingTimer(early);
    const late = setReadingTimer(1, () => called.push('late'));
    // Node calls a timer of the same length right behind it, before arrived data is read.
    setTimeout(() => {
      expect(late.immediate).toBeDefined();
      clearReadingTimer(late);
      called.push('cleared');
    }, 1);
    clearReadingTimer(undefined);
    blockEventLoop(5);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(called).toEqual(['cleared']);
  });

  it('does not keep the async context of its caller', async () => {
    const context = caller.run(
      'ada',
      () => new Promise((resolve) => setReadingTimer(1, () => resolve(caller.getStore()))),
    );
    expect(await context).toBeUndefined();
  });
});
