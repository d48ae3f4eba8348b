import { channel, subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel';
import { jest } from '@jest/globals';
import { acquisitions, type LockAcquisition } from '../../../lib/observation/diagnostics/acquisition.js';
import { LOCK_CHANNELS } from '../../../lib/observation/diagnostics/channels.js';
import { EventChannels } from '../../../lib/observation/diagnostics/event-channels.js';
import { EventPublisher } from '../../../lib/engine/event-publisher.js';
import { LockLostError } from '../../../lib/errors/index.js';
import type { LockEvent } from '../../../lib/engine/lock-event.js';
import { OPTIONS } from '../../../lib/options/option-table.js';
import { Acquirer } from '../../../lib/service/acquirer.js';
import { engineBench, held, holdOf, SILENT, TERMS, FakeClock } from '../engine/support.js';

const ABOUT: LockAcquisition = {
  ...{ instance: 'default', keys: ['a'], pattern: undefined, method: undefined, kind: 'exclusive', owner: 'me' },
  ...{ waitTimeout: 0, optional: false, isClosing: false },
};
const DEFAULTS = { ...OPTIONS.defaults.defaults, renewedLease: 30_000, methodWaitTimeout: 10_000 };

function setUp() {
  const clock = new FakeClock();
  const own = { observed: false, next: jest.fn<(event: LockEvent) => void>() };
  const channels = new EventChannels('default', own);
  const next = jest.spyOn(channels, 'next');
  const now = jest.spyOn(clock, 'now');
  const names = { labelOf: (id: string) => id, learn: async () => undefined };
  const events = new EventPublisher(channels, clock, SILENT, 'orders:17', names);
  const hold = holdOf(clock);
  const waiter = { key: 'a', terms: TERMS, since: 0 };
  now.mockClear();
  const tellAll = () => {
    events.contended(waiter);
    events.timeout(waiter);
    events.timeout({ ...waiter, terms: { ...TERMS, optional: true } });
    events.acquired(hold, 0, false);
    events.renewed(hold, 0);
    events.released(hold);
    events.unreleased(hold, 'why');
    events.lost(hold, new LockLostError('why'));
  };
  return { own, channels, next, now, tellAll };
}

it('builds no event, and reads no clock, without a listener', () => {
  const { channels, next, now, own, tellAll } = setUp();
  expect(channels.observed).toBe(false);
  tellAll();
  expect([next, now, own.next].map(({ mock }) => mock.calls.length)).toEqual([0, 0, 0]);
});

it.each(['contended', 'acquired', 'timeout', 'skipped', 'renewed', 'released', 'unreleased', 'lost'] as const)(
  'publishes to listeners of %s, and to no others',
  (type) => {
    const { channels, own, tellAll } = setUp();
    const told: unknown[] = [];
    const listener = (event: unknown): void => void told.push(event);
    subscribe(LOCK_CHANNELS[type], listener);
    expect(channels.observed).toBe(true);
    tellAll();
    unsubscribe(LOCK_CHANNELS[type], listener);
    tellAll();
    expect(told).toEqual([expect.objectContaining({ type, instance: 'default', key: 'a', kind: 'exclusive' })]);
    expect(own.next).not.toHaveBeenCalled();
    expect(channel(LOCK_CHANNELS[type]).hasSubscribers).toBe(false);
  },
);

it('describes no acquisition without a listener', async () => {
  const { engine, store, context } = engineBench();
  const described = jest.spyOn(acquisitions, 'tracePromise');
  const acquirer = new Acquirer(engine, context, DEFAULTS, 'default');
  const acquire = async () => {
    const lock = acquirer.acquire('a', { owner: 'me', waitTimeout: 0 });
    store.acquires.at(-1)!.reply.resolve(held(5, 30_000));
    return lock;
  };
  await acquire();
  expect(described).not.toHaveBeenCalled();
  const { start } = tracingChannel<LockAcquisition>(LOCK_CHANNELS.acquire);
  const told: unknown[] = [];
  const listener = (message: unknown): void => void told.push(message);
  start.subscribe(listener);
  const lock = await acquire();
  start.unsubscribe(listener);
  expect(told).toEqual([{ ...ABOUT, result: lock }]);
});
