import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { redisKeys } from '../../../lib/keys/index.js';
import { assembleScript } from '../../../scripts/lib/lua-source.mjs';
import { startRedis, type RedisServer } from '../../../testbed/servers/redis-server.mjs';
import { eventually } from '../../../testbed/wait/eventually.mjs';

/** From this number of holds on, the scripts of each side read an index. */
const SIDES = { index: 2, list: 1_000_000_000 } as const;
type Side = keyof typeof SIDES;
const SIDE_NAMES = ['index', 'list'] as const;

const LUA = join(process.cwd(), 'lua');
const NAMES = [
  'acquire',
  'acquire-all',
  'adopt',
  'extend',
  'fence',
  'force-release',
  'keep-units',
  'offer',
  'reinstate',
  'release',
  'renew',
  'set-limit',
] as const;
type Name = (typeof NAMES)[number];

/** The scripts with another number of holds from which they use the index. */
function scriptsOf(threshold: number): Record<Name, string> {
  const directory = mkdtempSync(join(tmpdir(), 'lua-'));
  cpSync(LUA, directory, { recursive: true });
  const file = join(directory, 'shared/crowd-size.lua');
  const text = readFileSync(file, 'utf8');
  expect(text).toMatch(/^local CROWD = \d+$/m);
  writeFileSync(file, text.replace(/^local CROWD = \d+$/m, `local CROWD = ${threshold}`));
  const scripts = Object.fromEntries(NAMES.map((name) => [name, assembleScript(directory, `${name}.lua`)]));
  rmSync(directory, { recursive: true });
  return scripts as Record<Name, string>;
}

let redis: RedisServer;
let subscriber: Redis;
const heard: string[] = [];
const scripts = {} as Record<Side, Record<Name, string>>;

beforeAll(async () => {
  for (const side of SIDE_NAMES) scripts[side] = scriptsOf(SIDES[side]);
  redis = await startRedis();
  subscriber = new Redis(redis.url);
  // The third client is not subscribed.
  await subscriber.subscribe('lock:client:c0', 'lock:client:c1');
  subscriber.on('message', (_, message: string) => heard.push(message));
});
beforeEach(async () => {
  await redis.admin.flushall();
  heard.length = 0;
});
afterAll(async () => {
  subscriber.disconnect();
  await redis.stop();
});

const id = fc.tuple(fc.nat(2), fc.integer({ min: 1, max: 7 })).map(([client, number]) => `c${client}:${number}`);
const lease = fc.constantFrom(500, 2_000, 100_000, 200_000);
const anyMode = fc.constantFrom('exclusive', 'read', 'read', 'read', 'permits:1/9', 'permits:2/9', 'permits:3/9');
const owner = fc.constantFrom('', '', '', 'x', 'y', 'c0:1', 'c1:2');
const readers = fc.constantFrom('read', 'read', 'read', 'read', 'exclusive');
const permits = fc.constantFrom('permits:1/9', 'permits:1/9', 'permits:1/9', 'permits:2/9', 'exclusive');

type Call = { readonly script: Name; readonly args: ReadonlyArray<string | number> };
type Op = Call | { readonly pass: number } | { readonly force: readonly number[] };

const request = (mode: fc.Arbitrary<string>) =>
  fc
    .record({ id, mode, owner, lease, batch: fc.constantFrom(0, 1, 16), waits: fc.constantFrom(0, 1) })
    .map(({ id, mode, owner, lease, batch, waits }) => {
      return [id, mode, owner, lease, batch, `0 ${waits} 3000 600000 3000 ${batch}`];
    });

/** The address stands for itself: each side uses its own key. */
const ADDRESS = 'address';
const call = (script: Name, args: fc.Arbitrary<ReadonlyArray<string | number>>): fc.Arbitrary<Call> =>
  args.map((rest) => ({ script, args: rest }));
const opsOf = (mode: fc.Arbitrary<string>): fc.Arbitrary<Op> =>
  fc.oneof(
    {
      weight: 20,
      arbitrary: call(
        'acquire',
        request(mode).map((rest) => [ADDRESS, ...rest]),
      ),
    },
    { weight: 2, arbitrary: call('acquire', request(fc.constant('permits:0/9')).map(drained)) },
    { weight: 2, arbitrary: call('acquire-all', request(mode)) },
    {
      weight: 10,
      arbitrary: call(
        'release',
        fc
          .record({
            id,
            tombstone: fc.constantFrom(0, 0, 0, 5_000),
            keep: fc.constantFrom(0, 0, 0, 800, 90_000),
            next: fc.option(request(mode)),
          })
          .map(({ id, tombstone, keep, next }) => [ADDRESS, id, `${tombstone} ${keep} 0`, ...(next ?? [])]),
      ),
    },
    { weight: 4, arbitrary: call('renew', fc.tuple(id, lease)) },
    {
      weight: 3,
      arbitrary: call(
        'extend',
        fc.tuple(id, lease).map((rest) => [ADDRESS, ...rest]),
      ),
    },
    {
      weight: 2,
      arbitrary: call(
        'offer',
        fc.tuple(id, lease).map(([id, lease]) => [ADDRESS, id, 'offer:1', lease]),
      ),
    },
    {
      weight: 2,
      arbitrary: call(
        'adopt',
        fc.tuple(id, lease).map(([id, lease]) => [ADDRESS, 'offer:1', id, lease]),
      ),
    },
    {
      weight: 2,
      arbitrary: call(
        'keep-units',
        fc.tuple(id, fc.constantFrom(1, 2), fc.constantFrom(0, 900)).map((rest) => [ADDRESS, ...rest]),
      ),
    },
    {
      weight: 1,
      arbitrary: call(
        'set-limit',
        fc.nat(12).map((permits) => [ADDRESS, permits, '9999999999999999']),
      ),
    },
    {
      weight: 2,
      arbitrary: call(
        'reinstate',
        fc.tuple(id, mode, owner, lease).map(([id, mode, owner, lease]) => [id, mode, owner, lease, 0, 1_000, 4]),
      ),
    },
    {
      weight: 2,
      arbitrary: call(
        'fence',
        fc.tuple(id, fc.constantFrom(1, 16)).map(([id, size]) => [id, 1_000, size]),
      ),
    },
    { weight: 2, arbitrary: fc.record({ pass: fc.constantFrom(1, 600, 2_100, 60_000) }) },
    { weight: 1, arbitrary: fc.record({ force: fc.uniqueArray(fc.nat(9), { maxLength: 6 }) }) },
  );

/** A request for all free permits does not wait. */
const drained = ([id, mode, owner, lease, batch]: ReadonlyArray<string | number>) => [
  ADDRESS,
  ...[id, mode, owner, lease, batch].map((value) => value!),
  '0 0 3000 600000 3000 1',
];

const sequences = fc.oneof(
  fc.array(opsOf(readers), { minLength: 10, maxLength: 60, size: 'max' }),
  fc.array(opsOf(permits), { minLength: 10, maxLength: 60, size: 'max' }),
  fc.array(opsOf(anyMode), { minLength: 10, maxLength: 60, size: 'max' }),
);

/** One key, and the scripts of one side at times that the test states. */
class Lock {
  readonly key: string;
  readonly names: ReturnType<typeof redisKeys>;

  constructor(
    readonly side: Side,
    run: number,
  ) {
    this.key = `${side}${run}`;
    this.names = redisKeys('lock', this.key);
  }

  get crowd(): { readonly ends: string; readonly aggregates: string } {
    const tagged = `{${this.key}}`;
    return { ends: `lock:ends:${tagged}`, aggregates: `lock:crowd:${tagged}` };
  }

  async call({ script, args }: Call, micros: number): Promise<unknown> {
    const { state, queue, waiters, fence, tombstones, limit } = this.names;
    const keys = script === 'renew' ? [state] : [state, queue, waiters, fence, tombstones, limit];
    const time = `{ '${Math.floor(micros / 1_000_000)}', '${micros % 1_000_000}' }`;
    const source = scripts[this.side][script].replaceAll("redis.call('TIME')", time);
    const given = args.map((arg) => (arg === ADDRESS ? `lock:client:\n${this.key}` : arg));
    const reply = await redis.admin.eval(source, keys.length, ...keys, ...given);
    if (!Array.isArray(reply)) return reply;
    // A request that is not granted names any four holds.
    const start = script === 'acquire' ? 0 : script === 'release' ? 2 : reply.length;
    return [0, 2, 5].includes(Number(reply[start])) ? reply.slice(0, start + 5) : reply;
  }

  async force(numbers: readonly number[], micros: number): Promise<unknown> {
    const holds = Object.entries(await redis.admin.hgetall(this.names.state)).sort();
    const named = numbers.flatMap((number) => {
      const hold = holds[number];
      return hold === undefined ? [] : [hold[0], hold[1].split(' ')[3]!];
    });
    return this.call({ script: 'force-release', args: [ADDRESS, 0, ...named] }, micros);
  }

  async contents(): Promise<unknown> {
    const { state, queue, waiters, fence, tombstones, limit } = this.names;
    const { admin } = redis;
    return {
      holds: await admin.hgetall(state),
      queue: await admin.zrange(queue, 0, '-1', 'WITHSCORES'),
      waiters: await admin.hgetall(waiters),
      tokens: await admin.get(fence),
      tombstones: await admin.zrange(tombstones, 0, '-1', 'WITHSCORES'),
      limit: (await admin.get(limit))?.split(' ')[0],
    };
  }
}

async function expectConsistent(lock: Lock, done: readonly string[]): Promise<boolean> {
  const { admin } = redis;
  const { ends, aggregates } = lock.crowd;
  const keys = [...Object.values(lock.names), ends, aggregates];
  for (const key of keys) expect({ done, key, ttl: await admin.pttl(key) }).not.toEqual({ done, key, ttl: -1 });
  const size = await admin.hlen(lock.names.state);
  if (size === 0) expect(await admin.exists(ends, aggregates)).toBe(0);
  const { sums, ...fields } = await admin.hgetall(aggregates);
  if (sums === undefined) return false;
  const [, count, units, special, ...kinds] = sums.split(' ').map(Number);
  const holds = Object.entries(await admin.hgetall(lock.names.state)).map(partsOf);
  const index = {
    count,
    units,
    special,
    kinds: kinds.slice(0, 3),
    fields,
    ids: (await admin.zrange(ends, 0, '-1')).sort(),
  };
  expect({ done, index }).toEqual({ done, index: indexOf(holds) });
  return true;
}

/** Whether a handover would use the id of a hold that has expired. An id is used once. */
async function namesExpired({ names }: Lock, op: Op, micros: number): Promise<boolean> {
  if (!('script' in op) || (op.script !== 'offer' && op.script !== 'adopt')) return false;
  const hold = await redis.admin.hget(names.state, String(op.args[2]));
  return hold !== null && Number(hold.split(' ')[1]) <= micros / 1_000;
}

type Hold = ReturnType<typeof partsOf>;

function partsOf([id, text]: [string, string]) {
  const [, mode, owner] = /^(?:pushed:)?(\S+) \d+ \d+ \d+ (.+)$/.exec(text)!;
  const [, kept, kind, units] = /^(kept:)?(\w+):?(\d*)/.exec(mode!)!;
  return { id, mode: mode!, owner: owner!, kept: kept !== undefined, kind: kind!, units: Number(units) };
}

const isPlain = ({ id, owner, kept, kind, units }: Hold): boolean =>
  owner === id && !kept && (kind === 'read' || (kind === 'permits' && units === 1));

/** What the index of these holds contains. */
function indexOf(holds: readonly Hold[]) {
  const fields: Record<string, string> = {};
  const add = (field: string): void => void (fields[field] = String(Number(fields[field] ?? 0) + 1));
  for (const hold of holds) {
    if (!isPlain(hold)) fields[`hold:${hold.id}`] = `${hold.mode} ${hold.owner}`;
    if (hold.owner === hold.id) continue;
    add(`all:${hold.owner}`);
    if (!hold.kept) add(`${hold.kind}:${hold.owner}`);
  }
  return {
    count: holds.length,
    units: holds.reduce((sum, { units }) => sum + units, 0),
    special: holds.filter((hold) => !isPlain(hold)).length,
    kinds: ['read', 'permits', 'exclusive'].map((kind) => holds.filter((hold) => hold.kind === kind).length),
    fields,
    ids: holds.map(({ id }) => id).sort(),
  };
}

async function compare(ops: readonly Op[], run: number): Promise<boolean> {
  const locks = SIDE_NAMES.map((side) => new Lock(side, run));
  // An hour ahead of the server's clock, so that no key expires while the scripts still look at it.
  const [seconds] = await redis.admin.time();
  let micros = (Number(seconds) + 3_600) * 1_000_000;
  let indexed = false;
  const done: string[] = [];
  for (const op of ops) {
    micros += 1_000;
    done.push(JSON.stringify(op));
    if ('pass' in op) {
      micros += op.pass * 1_000;
      continue;
    }
    if (await namesExpired(locks[1]!, op, micros)) continue;
    const replies: unknown[] = [];
    for (const lock of locks)
      replies.push(await ('force' in op ? lock.force(op.force, micros) : lock.call(op, micros)));
    expect({ done, reply: replies[0] }).toEqual({ done, reply: replies[1] });
    const [index, list] = await Promise.all(locks.map((lock) => lock.contents()));
    expect({ done, contents: index }).toEqual({ done, contents: list });
    indexed = (await expectConsistent(locks[0]!, done)) || indexed;
  }
  await redis.admin.publish('lock:client:c0', `end ${run}`);
  await eventually(() => heard.includes(`end ${run}`));
  const of = (side: Side): string[] =>
    // With more than four holders, it is open which of them get `yield`.
    heard
      .filter((text) => text.endsWith(` ${side}${run}`) && !text.startsWith('yield'))
      .map((text) => text.replace(`${side}${run}`, ''))
      .sort();
  expect({ done, messages: of('index') }).toEqual({ done, messages: of('list') });
  heard.length = 0;
  return indexed;
}

it('scripts with an index of the holds give the same replies, contents and messages as scripts without', async () => {
  let [run, indexed] = [0, 0];
  // Not the time limit of fast-check: it would leave a sequence that still runs to the next test.
  const end = performance.now() + 15_000;
  await fc.assert(
    fc.asyncProperty(sequences, async (ops) => {
      if (run > 0 && performance.now() > end) return;
      if (await compare(ops, ++run)) indexed += 1;
    }),
    {
      numRuns: Number(process.env['RUNS'] ?? 60),
      seed: Number(process.env['SEED'] ?? 20_261_123),
      endOnFailure: process.env['SHRINK'] === undefined,
    },
  );
  expect(indexed).toBeGreaterThan(run / 2);
});

/** Calls a script of the side with the index, at the server's own time. */
async function run(key: string, script: Name, ...args: Array<string | number>): Promise<number[]> {
  const { state, queue, waiters, fence, tombstones, limit } = redisKeys('lock', key);
  const keys = [state, queue, waiters, fence, tombstones, limit];
  const source = scripts.index[script];
  return (await redis.admin.eval(source, keys.length, ...keys, `lock:client:\n${key}`, ...args)) as number[];
}

const acquire = (key: string, id: string, mode: string, lease: number, waits = 0, place = 0): Promise<number[]> =>
  run(key, 'acquire', id, mode, '', lease, 1, `${place} ${waits} 3000 600000 3000 1`);

const MANY = 250;
const [QUEUED, HELD, BUSY] = [0, 1, 2];

it('many holds that expire at once are dropped in pieces, and each reply but the last says where to go on', async () => {
  const lock = new Lock('index', 0);
  const micros = (Number((await redis.admin.time())[0]) + 3_600) * 1_000_000;
  const ask = (id: string, mode: string, lease: number, at: number, place = 0): Promise<unknown> =>
    lock.call({ script: 'acquire', args: [ADDRESS, id, mode, '', lease, 1, `${place} 0 3000 600000 3000 1`] }, at);
  for (let i = 0; i < MANY; i++) await ask(`c0:${i}`, 'read', 1_000, micros + i);
  for (let i = 0; i < 5; i++) await ask(`c1:${i}`, 'read', 60_000, micros + MANY + i);

  const sizes: number[] = [];
  for (let place = 0; place >= 0;) {
    const reply = (await ask('c2:1', 'exclusive', 1_000, micros + 2_000_000, place)) as number[];
    expect(reply[0]).toBe(BUSY);
    place = reply[4]!;
    sizes.push(await redis.admin.hlen(lock.names.state));
  }
  // The fifth piece is as large as can be, so the script cannot know that it is the last one.
  expect(sizes).toEqual([205, 155, 105, 55, 5, 5]);
});

it('many waiters are granted in pieces, and each reply but the last says where to go on', async () => {
  const listener = redis.admin.duplicate();
  try {
    await listener.subscribe('lock:client:c1');
    expect((await acquire('a', 'c0:1', 'exclusive', 60_000))[0]).toBe(HELD);
    for (let i = 0; i < 50; i++) expect((await acquire('a', `c1:${i}`, 'read', 60_000, 1))[0]).toBe(QUEUED);
    const sizes: number[] = [];
    for (let place = 0, id = 'c0:1'; place >= 0; id = 'c0:0') {
      place = (await run('a', 'release', id, `0 0 ${place}`))[1]!;
      sizes.push(await redis.admin.hlen('lock:state:{a}'));
    }
    expect(sizes).toEqual([20, 40, 50]);
  } finally {
    listener.disconnect();
  }
});

it('the last release of many holds leaves no part of the index, and the next holder finds a free lock', async () => {
  for (let i = 0; i < MANY; i++) expect((await acquire('a', `c0:${i}`, 'read', 60_000))[0]).toBe(HELD);
  expect(await redis.admin.exists('lock:ends:{a}', 'lock:crowd:{a}')).toBe(2);
  for (let i = 0; i < MANY; i++) await run('a', 'release', `c0:${i}`, '0 0 0');
  expect((await redis.admin.keys('lock:*')).sort()).toEqual(['lock:fence:{a}']);
  expect((await acquire('a', 'c1:1', 'exclusive', 60_000))[0]).toBe(HELD);
});

it.each(['lock:ends:{a}', 'lock:crowd:{a}', 'lock:fence:{a}'])(
  'scripts make the index anew if %s is gone',
  async (key) => {
    for (let i = 0; i < 20; i++) await acquire('a', `c0:${i}`, 'permits:1/21', 60_000);
    await redis.admin.del(key);
    await run('a', 'release', 'c0:3', '0 0 0');
    await redis.admin.del(key);
    expect((await acquire('a', 'c1:1', 'permits:1/21', 60_000))[0]).toBe(HELD);
    expect((await acquire('a', 'c1:2', 'permits:1/21', 60_000))[0]).toBe(HELD);
    expect((await acquire('a', 'c1:3', 'permits:1/21', 60_000))[0]).toBe(BUSY);
    await expectConsistent({ names: redisKeys('lock', 'a'), crowd: CROWD_OF_A } as Lock, []);
  },
);

const CROWD_OF_A = { ends: 'lock:ends:{a}', aggregates: 'lock:crowd:{a}' };

it('an index that a deleted state leaves behind counts for nothing', async () => {
  for (let i = 0; i < 20; i++) await acquire('a', `c0:${i}`, 'permits:2/40', 60_000);
  await redis.admin.del('lock:state:{a}');
  for (let i = 0; i < 20; i++) expect((await acquire('a', `c1:${i}`, 'permits:2/40', 60_000))[0]).toBe(HELD);
  expect((await acquire('a', 'c2:1', 'permits:1/40', 60_000))[0]).toBe(BUSY);
  await expectConsistent({ names: redisKeys('lock', 'a'), crowd: CROWD_OF_A } as Lock, []);
});

it('a full Redis renews, extends and releases one of many holds', async () => {
  for (let i = 0; i < 20; i++) await acquire('a', `c0:${i}`, 'read', 60_000);
  const [state] = [redisKeys('lock', 'a').state];
  await redis.admin.config('SET', 'maxmemory', '1');
  try {
    await expect(acquire('a', 'c1:1', 'read', 60_000)).rejects.toThrow('OOM');
    expect(await redis.admin.eval(scripts.index.renew, 1, state, 'c0:1', 120_000)).toEqual([120_000]);
    expect(await run('a', 'extend', 'c0:2', 120_000)).toBe(120_000);
    expect(await run('a', 'release', 'c0:3', '0 0 0')).toEqual([1, -1]);
  } finally {
    await redis.admin.config('SET', 'maxmemory', '0');
  }
  await expectConsistent({ names: redisKeys('lock', 'a'), crowd: CROWD_OF_A } as Lock, []);
});

it('a forced release of some of many holds, and of all, keeps the index true', async () => {
  for (let i = 0; i < 20; i++) await acquire('a', `c0:${i}`, 'read', 60_000);
  const { state } = redisKeys('lock', 'a');
  const force = async (number: number): Promise<number[]> => {
    const holds = Object.entries(await redis.admin.hgetall(state)).slice(0, number);
    return run('a', 'force-release', 0, ...holds.flatMap(([id, text]) => [id, text.split(' ')[3]!]));
  };
  expect((await force(5))[0]).toBe(5);
  await expectConsistent({ names: redisKeys('lock', 'a'), crowd: CROWD_OF_A } as Lock, []);
  expect((await force(100))[0]).toBe(15);
  expect((await redis.admin.keys('lock:*')).sort()).toEqual(['lock:fence:{a}']);
});
