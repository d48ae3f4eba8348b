import { jest } from '@jest/globals';
import type { AcquireRequest, LockStore } from '../../../lib/store/lock-store.js';
import { RedissonStore } from '../../../lib/redisson/redisson-store.js';
import { Replicas } from '../../../lib/store/redis/replicas.js';
import { ConnectionHealth } from '../../../lib/store/redis/connection-health.js';
import type { Command, Commands } from '../../../lib/store/redis/line.js';
import { listKeys } from '../../../lib/store/redis/key-scan.js';
import { RedisStore } from '../../../lib/store/redis/redis-store.js';
import { LastingLine } from '../../../lib/store/redis/lasting-line.js';
import { ScriptRunner } from '../../../lib/store/redis/script-runner.js';
import { readServerIdentity } from '../../../lib/store/redis/server-identity.js';
import { REQUEST as USUAL, SILENT } from '../engine/support.js';
import { FakeLine, serverWith } from './support.js';
import { lockError } from '../../../lab/testbed/locks/lock-error.js';

const REQUEST: AcquireRequest = { ...USUAL, waits: false, slots: 1 };
const PERMITS: AcquireRequest = { ...REQUEST, mode: { kind: 'permits', units: 1, limit: 2 } };
const RELEASE = { key: 'a', id: 'me:1', tombstoneFor: 0, keep: 0 };

/** What an open MULTI, a stub in a test or a broken proxy may answer. */
const WRONG: readonly unknown[] = [
  ...[undefined, null, true, false, {}, 'OK', 'QUEUED', 'PONG', '', ' ', 'NaN', '1e3', '0x1', ' 1', 'nil'],
  ...[NaN, Infinity, 1.5, 2 ** 53, -4, [null], ['QUEUED'], [undefined], [[]], ['1', 'x'], [1, null], [0, 'x', 1]],
  ...[[1, 2, 'x', 4, 5], [6, 1, null, 1, 1], [1, 1, 0, 1, 1], new Array(40).fill(1), [9, 1, 1], [3, 1, 1], [7, 1]],
  ...[
    [0, 1, 1, 1, -2],
    [5, 1, 1, 1, -1, 7],
    [1, -1, 'QUEUED', 1],
    [1, -1, 0],
    [-1, 5],
    [2, 5],
    [1, 5, 5, 5],
  ],
];

/** Small replies that some scripts give, and others do not. */
const SMALL: readonly unknown[] = [-3, -2, -1, 0, 1, 2, '1', [], [1], [1, 0], [0, 5], [2]];

interface Case {
  readonly script: string;
  readonly call: () => Promise<unknown>;
  /** Which of these replies the script may give, as JSON. */
  readonly may?: readonly string[];
  /** The same for replies after which the client sends a further command. */
  readonly goesOn?: readonly string[];
}

const options = { connection: 'redis://127.0.0.1:1', keyPrefix: 'lock', commandTimeout: 10_000 };
const store = new RedisStore(options, SILENT);
const redisson = new RedissonStore(
  { ...options, renewedLease: 30_000, nameMapper: (key) => key, fenced: true },
  SILENT,
);
const FLAGS = ['0', '1', '"1"'];

const own: readonly Case[] = [
  { script: 'acquire', call: () => store.acquire(REQUEST), goesOn: ['[3,1,1]'] },
  { script: 'acquire', call: () => store.acquire(PERMITS), goesOn: ['[3,1,1]'] },
  { script: 'hand-over', call: () => store.acquire({ ...REQUEST, adopts: 'offer' }), goesOn: ['[]'] },
  { script: 'acquire-all', call: () => store.acquireAll([REQUEST, PERMITS]), may: ['[]'] },
  {
    script: 'release',
    call: () => store.release({ ...RELEASE, next: undefined }),
    may: ['1', '"1"'],
    goesOn: ['[0,5]', '[1,0]'],
  },
  { script: 'release', call: () => store.release({ ...RELEASE, next: REQUEST }) },
  { script: 'hand-over', call: () => store.offer({ ...REQUEST, offer: 'o' }), goesOn: ['[]'] },
  { script: 'force-release', call: () => store.endHolds('a', []), goesOn: ['[9,1,1]', '[3,1,1]'] },
  { script: 'inspect', call: () => store.inspect('a') },
  { script: 'inspect', call: () => store.forceRelease('a') },
  { script: 'survey', call: () => store.survey({ key: 'a', kind: 'read' }), may: ['[]', '[1,1,0,1,1]'] },
  { script: 'fence', call: () => store.fence({ key: 'a', id: 'me:1', token: 5, batchSize: 1 }), may: ['[1,0]'] },
  {
    script: 'reinstate',
    call: () => store.reinstate({ ...REQUEST, owner: undefined, latest: undefined, token: 5, batchSize: 1 }),
    may: ['-1', ...FLAGS],
  },
  { script: 'limit', call: () => store.setLimit('a', 2) },
  { script: 'limit', call: () => store.permits.add({ key: 'a', id: 'me:1', change: 1, permits: 1 }) },
  {
    script: 'keep-units',
    call: () => store.permits.keepUnits({ key: 'a', id: 'me:1', units: 1, keep: 0 }),
    goesOn: ['[1,0]', '[0,5]', '[7,1]', '[-1,5]', '[2,5]'],
  },
  { script: 'latch-set', call: () => store.latches.setCount({ key: 'a', id: '1', count: 1, lifetime: 9 }), may: FLAGS },
  { script: 'latch-count-down', call: () => store.latches.countDown('a', '1'), may: ['[1,0]', '[7,1]'] },
  { script: 'latch-count', call: () => store.latches.count('a', 0, []), may: ['["1","x"]'] },
  { script: 'latch-delete', call: () => store.latches.delete('a', '1', 'l'), may: FLAGS },
];

const ofRedisson: readonly Case[] = [
  { script: 'acquire', call: () => redisson.acquire(REQUEST), may: ['[1,0]', '[0,5]', '[2]'] },
  { script: 'acquire-permits', call: () => redisson.acquire(PERMITS), may: ['[1,0]', '[0,5]', '[2]'] },
  {
    script: 'acquire-shared',
    call: () => redisson.acquire({ ...REQUEST, mode: { kind: 'read' } }),
    may: ['[1,0]', '[0,5]', '[2]'],
  },
  { script: 'release', call: () => redisson.release({ ...RELEASE, next: undefined }) },
  { script: 'inspect', call: () => redisson.inspect('a') },
  { script: 'inspect', call: () => redisson.forceRelease('a') },
  {
    script: 'latch-set',
    call: () => redisson.latches.setCount({ key: 'a', id: '1', count: 1, lifetime: 9 }),
    may: FLAGS,
  },
  { script: 'latch-count-down', call: () => redisson.latches.countDown('a', '1'), may: ['[1,0]'] },
  { script: 'latch-count', call: () => redisson.latches.count('a', 0, []), may: ['0', '1', '2', '"1"'] },
];

const answering = (reply: unknown) => (command: Command) => queueMicrotask(() => command.answered(reply));
const answerAll = (reply: unknown) => jest.spyOn(LastingLine.prototype, 'run').mockImplementation(answering(reply));

/** What a call makes of a reply to every script: `answered`, or the error. */
async function outcomeOf({ call }: Case, reply: unknown): Promise<unknown> {
  answerAll(reply);
  return call().then(
    () => 'answered',
    (error: unknown) => error,
  );
}

const refused = (command: string) => lockError('LOCK_STORE', `${command} was answered with`);

afterEach(() => {
  jest.restoreAllMocks();
});

describe.each([
  ['the own protocol', own],
  ['the protocol of Redisson', ofRedisson],
])('a reply that a script of %s cannot give', (_protocol, cases) => {
  it.each(cases)('is no result: $script', async (each) => {
    const possible = [...(each.may ?? []), ...(each.goesOn ?? [])];
    const isScalar = (reply: unknown): boolean => !Array.isArray(reply);
    // Redisson's scripts reply with few elements, which some of the wrong lists have.
    const wrong = cases === own ? WRONG : WRONG.filter(isScalar);
    for (const reply of [...wrong, ...SMALL].filter(
      (some) => !possible.includes(JSON.stringify(some)) || Number.isNaN(some),
    )) {
      expect([reply, await outcomeOf(each, reply)]).toEqual([reply, refused(`the script '${each.script}'`)]);
    }
    for (const reply of each.may ?? [])
      expect([reply, await outcomeOf(each, JSON.parse(reply))]).toEqual([reply, 'answered']);
  });
});

describe('a reply that the scripts of renewals cannot give', () => {
  const requests = [REQUEST, { ...REQUEST, key: 'b' }];

  it.each<[string, LockStore]>([
    ['the own protocol', store],
    ['the protocol of Redisson', redisson],
  ])('renews nothing and ends nothing: %s', async (_protocol, tested) => {
    const possible = ['[1,0]', '[0,5]', '[7,1]', '[-1,5]', '[2,5]'];
    const replies = [...WRONG, ...SMALL, [1, 'x'], [1, 1, 1]];
    for (const reply of replies.filter((each) => !possible.includes(JSON.stringify(each)))) {
      answerAll(reply);
      expect([reply, await tested.renew(requests)]).toEqual([
        reply,
        [refused("the script 'renew'"), refused("the script 'renew'")],
      ]);
    }
  });

  it('the error of one lease leaves the others renewed', async () => {
    const failure = Object.assign(new Error('WRONGTYPE no lock'), { name: 'ReplyError' });
    answerAll([failure]).mockImplementationOnce(answering([5, failure]));
    expect(await store.renew(requests)).toEqual([5, expect.objectContaining({ code: 'LOCK_STORE' })]);
  });
});

it('an error describes the reply without its content', async () => {
  const [acquire] = own;
  const told = async (reply: unknown): Promise<string> => ((await outcomeOf(acquire!, reply)) as Error).message;
  expect(await told('QUEUED')).toContain('"QUEUED"');
  expect(await told('secret')).toContain('a text,');
  expect(await told([1, 'secret', ['secret'], null, 5])).toContain('a list of 5 (1, a text, a list of 1, null, …)');
  for (const reply of ['secret', ['secret'], { secret: 1 }]) expect(await told(reply)).not.toContain('secret');
});

describe('a reply that other commands cannot give', () => {
  const asking = (commands: Commands): ScriptRunner =>
    new ScriptRunner({ commands, health: new ConnectionHealth(SILENT, 1_000), doubt: () => undefined }, 1_000);

  it('is no list of keys, and no time', async () => {
    const [keys, now] = [
      ['0', ['lock:state:{a}']],
      ['1', '1'],
    ];
    const wrongKeys = ['QUEUED', ['0'], ['0', [null]], ['x', []]].map((scan) => [scan, now]);
    for (const [scan, time] of [...wrongKeys, [keys, 'QUEUED'], [keys, ['x', '1']]]) {
      const send = async (command: string): Promise<unknown> => (command === 'SCAN' ? scan : time);
      const commands = { send, run: () => undefined };
      const nodes = [{ address: '', commands }];
      const listed = listKeys(asking(commands), nodes, 'lock', { cursor: '', budget: 500 });
      await expect(listed).rejects.toEqual(lockError('LOCK_STORE', 'answered'));
    }
  });

  it.each([undefined, null, 'QUEUED', 'OK', '', 1, []])('is no identity of a server: %j', async (info) => {
    const send = async (): Promise<unknown> => info;
    const asker = asking({ send, run: () => undefined });
    await expect(readServerIdentity(asker, () => undefined)).rejects.toEqual(refused('INFO'));
  });

  it.each<[string, unknown, unknown]>([
    ['the script', 'QUEUED', 1],
    ['the script', null, 1],
    ['the script', 2, 1],
    ['WAIT', 1, 'QUEUED'],
    ['WAIT', 1, null],
    ['WAIT', 1, true],
    ['WAIT', 1, -1],
  ])('confirms no replica: %s answers %j, WAIT %j', async (command, written, replicas) => {
    const line = new FakeLine({}, async (word) => (word === 'WAIT' ? replicas : written));
    const request = { key: 'a', id: '1', min: 1, timeout: 500 };
    const confirmed = new Replicas(serverWith(line), 1_000).confirm(request, 'lock:state:{a}', 'confirm');
    await expect(confirmed).rejects.toEqual(lockError('LOCK_STORE', command, { key: 'a' }));
  });
});
