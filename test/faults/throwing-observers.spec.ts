import { Socket } from 'node:net';
import { jest } from '@jest/globals';
import { blockEventLoop, LockBench, eventually } from '../../lab/testbed/locks/locks.js';
import { startWorker } from '../../lab/testbed/workers/processes.mjs';

const LEASE = 300;
const WORKER = new URL('../../lab/testbed/workers/throwing-worker.mjs', import.meta.url);

interface Story {
  readonly order: readonly string[];
  readonly served: boolean;
  readonly escaped: readonly string[];
  readonly warnings: readonly string[];
}

const bench = new LockBench({ records: true });
afterEach(() => void jest.restoreAllMocks());

async function lose(platform: boolean): Promise<Story> {
  await using worker = await startWorker(WORKER);
  return await worker.call<Story>('lose', bench.redis.url, { platform });
}

describe('a loss whose observers all throw', () => {
  it('reaches all of them in order: signal, onLost, then observers, and the next waiter is served', async () => {
    const { order, served, escaped, warnings } = await lose(false);
    expect(order).toEqual([
      ...['signal, held: false', 'next listener of the signal', 'onLost'],
      ...['logger', 'subscriber', 'next subscriber', 'structured log'],
    ]);
    expect(served).toBe(true);
    expect(escaped).toEqual([]);
    expect(warnings.filter((text) => text.startsWith('LockObserverWarning'))).toHaveLength(2);
  });

  it('reaches all of them even if Node raises an uncaught exception: a signal, a diagnostics channel', async () => {
    const { order, served, escaped } = await lose(true);
    expect(order).toEqual([
      ...['signal, held: false', 'next listener of the signal', 'onLost'],
      ...['logger', 'subscriber', 'next subscriber', 'structured log', 'channel'],
    ]);
    expect(served).toBe(true);
    expect(escaped).toEqual(['Error: thrown by the signal', 'Error: thrown by the channel']);
  });
});

/** Counts what all clients of this process write from now on. */
function countCommands(): () => number {
  const send = jest.spyOn(Socket.prototype, 'write');
  return () => send.mock.calls.length;
}

describe('a property of a handle whose lease has ended', () => {
  it.each([
    ['isHeld', (service: any) => service.lock.isHeld],
    ['signal', (service: any) => service.lock.isHeld || service.lock.signal],
    ['remainingTime()', (service: any) => service.lock.remainingTime()],
    ['holdCount', (service: any) => service.lock.holdCount],
  ])('%s sends nothing, and the request of the next waiter follows later', async (_, look) => {
    const service = await bench.service();
    const lock = await service.acquire('a', { expire: LEASE });
    const waiting = service.acquire('a', { waitTimeout: '10s' });
    const sent = countCommands();
    blockEventLoop(LEASE);
    expect(look({ lock })).not.toBe(true);
    expect([sent(), lock.signal.aborted, bench.told('lost')]).toEqual([0, true, []]);
    await eventually(() => sent() > 0);
    expect(bench.told('lost')).toHaveLength(1);
    expect(await (await waiting).release()).toBe(true);
  });

  it('isLeader of an election sends nothing', async () => {
    const service = await bench.service({ renewedLease: LEASE });
    const order: string[] = [];
    const election = service.getLeaderElection('a', { onDeposed: () => void order.push('onDeposed') });
    election.start();
    await eventually(() => election.isLeader);
    const { signal } = election;
    signal!.addEventListener('abort', () => order.push(`signal, leads: ${election.isLeader}`));
    const sent = countCommands();
    blockEventLoop(LEASE);
    expect(election.isLeader).toBe(false);
    expect([sent(), signal!.aborted, bench.told('lost')]).toEqual([0, true, []]);
    await eventually(() => bench.told('lost').length === 1);
    expect(order).toEqual(['signal, leads: false', 'onDeposed']);
  });
});
