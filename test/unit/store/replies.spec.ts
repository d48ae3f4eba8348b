import type { AcquireRequest, HoldMode } from '../../../lib/store/lock-store.js';
import { REPLY_CODES } from '../../../lib/store/protocol.generated.js';
import {
  passMessage,
  readAcquireAllReply,
  readAnswer,
  readInspectReply,
  readMode,
  requestArgs,
  writeMode,
} from '../../../lib/store/redis/replies.js';
import { REQUEST } from '../engine/support.js';

const { BUSY, HELD, HELD_PUSHED } = REPLY_CODES;
const permits: HoldMode = { kind: 'permits', units: 2, limit: 9 };

describe('the mode of a request', () => {
  it.each<[HoldMode, number | undefined, string]>([
    [{ kind: 'exclusive' }, undefined, 'exclusive'],
    [{ kind: 'read' }, 5, 'read'],
    [permits, undefined, 'permits:2/9'],
    [permits, 1, 'permits:2/9'],
    [permits, 3, 'permits:2/9*3'],
  ])('%j with %p slots is %s', (mode, slots, text) => {
    expect(writeMode(mode, slots)).toBe(text);
    expect(readMode(text)).toEqual(mode);
  });

  it('has one slot if the request is fair', () => {
    const request = { ...REQUEST, mode: permits, slots: 3 };
    expect(requestArgs('', request)[2]).toBe('permits:2/9*3');
    expect(requestArgs('', { ...request, fair: true })[2]).toBe('permits:2/9');
  });
});

describe('the reply to a request', () => {
  const held = { outcome: 'held', time: 5, token: 7, lease: 30_000, batchSize: 4 };

  it('has the number of permits of the hold, if it has any', () => {
    for (const code of [HELD, HELD_PUSHED]) {
      expect(readAnswer([code, 5, -1, '7', 30_000, 4, 6]).reply).toEqual({ ...held, units: 6 });
      expect(readAnswer([code, 5, -1, '7', 30_000, 4]).reply).toStrictEqual(held);
    }
  });

  it('for several keys has the number of permits of each', () => {
    const reply = [HELD, 5, -1, '7', 30_000, 4, 0, HELD, 5, -1, '7', 30_000, 4, 6];
    const requests = [{ key: 'a' }, { key: 'b' }] as AcquireRequest[];
    expect(readAcquireAllReply(reply, requests)).toStrictEqual([held, { ...held, units: 6 }]);
    expect(readAcquireAllReply([], requests)).toBeUndefined();
  });

  it('for several keys names a key that is not free, and its holders', () => {
    const requests = [{ key: 'a' }, { key: 'b' }] as AcquireRequest[];
    expect(readAcquireAllReply([BUSY, 2, 'me:1'], requests)).toEqual({ outcome: 'busy', key: 'b', holders: ['me:1'] });
  });

  it('to inspect says which holds are only kept', () => {
    const hold = (kept: number): unknown[] => ['me:1', 'me', 'permits:6/9', 7, 30_000, 5, kept];
    const { holds } = readInspectReply([0, [hold(0), hold(1)], [], -1, '', '']);
    expect(holds).toMatchObject([0, 1].map((kept) => ({ mode: { ...permits, units: 6 }, kept: kept === 1 })));
  });

  it('to inspect has the permits that one slot of a waiter needs', () => {
    const waiters = [['me:1', 'me:1', 'permits:2/9*3', '5']];
    expect(readInspectReply([0, [], waiters, -1, '', '']).waiters[0]?.mode).toEqual(permits);
  });
});

describe('a message', () => {
  const grant = { id: 'me:1', token: 7, lease: 3_000, time: 5, batchSize: 4 };

  function received(message: string): unknown[] {
    const calls: unknown[] = [];
    const heard =
      (word: string) =>
      (...parts: unknown[]): void =>
        void calls.push([word, ...parts]);
    const to = {
      retryAfter: heard('retry'),
      yield: heard('yield'),
      revoked: heard('revoked'),
      opened: heard('opened'),
    };
    passMessage(message, to, heard('granted'));
    return calls;
  }

  it.each(['a', 'a b', '1 2 3 k', '6', 'granted me:1 7 3000 5 4 6 - k', 'a\nb'])('grants the key %j', (key) => {
    const message = (units: number): string => `granted me:1 7 3000 5 4 ${units} node ${key}`;
    expect(received(message(6))).toStrictEqual([['granted', { ...grant, key, units: 6 }, 'node']]);
    expect(received(message(0))).toStrictEqual([['granted', { ...grant, key }, 'node']]);
  });

  it.each([
    ['retry me:1 25 a b', ['retry', 'me:1', 25]],
    ['yield me:1 a', ['yield', 'me:1']],
    ['revoked me:1 7 b3Bz - a', ['revoked', 'me:1', 7, 'ops', undefined]],
    ['revoked me:1 7 - you:2 a', ['revoked', 'me:1', 7, undefined, 'you:2']],
    ['opened me:1 a b', ['opened', 'a b', 'me:1']],
  ])('%j is passed on', (message, call) => {
    expect(received(message)).toStrictEqual([call]);
  });

  it.each(['granted me:1 7 3000 5 4 6 a', 'retry me:1 soon a', 'unknown me:1 a', ''])('%j is ignored', (message) => {
    expect(received(message)).toEqual([]);
  });
});
