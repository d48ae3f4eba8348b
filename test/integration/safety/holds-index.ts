import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect } from '@jest/globals';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { redisKeys } from '../../../lib/keys/index.js';
import { assembleScript } from '../../../scripts/lib/lua-source.mjs';
import { startRedis, type RedisServer } from '../../../lab/testbed/servers/redis-server.mjs';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';

/** From this number of holds on, the scripts of each side read an index. */
const SIDES = { index: 2, list: 1_000_000_000 } as const;
type Side = keyof typeof SIDES;
const SIDE_NAMES = ['index', 'list'] as const;

/** Codes of replies (`lua/shared/reply-codes.lua`). */
export const [QUEUED, HELD, BUSY, QUEUED_UNSUBSCRIBED] = [0, 1, 2, 5];
/** The scripts whose replies say where to go on. */
const CONTINUED: ReadonlySet<string> = new Set(['acquire', 'release', 'keep-units', 'set-limit', 'force-release']);

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
  'survey',
] as const;
type Name = (typeof NAMES)[number];

/** The scripts with another number of holds from which they use the index, and other pieces in which they make it. */
function scriptsOf(threshold: number, piece: number | undefined): Record<Name, string> {
  const directory = mkdtempSync(join(tmpdir(), 'lua-'));
  cpSync(LUA, directory, { recursive: true });
  const set = (name: string, constant: string, value: number): void => {
    const file = join(directory, 'shared', name);
    const text = readFileSync(file, 'utf8');
    const line = new RegExp(`^local ${constant} = \\d+$`, 'm');
    expect(text).toMatch(line);
    writeFileSync(file, text.replace(line, `local ${constant} = ${value}`));
  };
  set('crowd-size.lua', 'CROWD', threshold);
  if (piece !== undefined) set('build-crowd.lua', 'HOLDS_PER_PIECE', piece);
  const scripts = Object.fromEntries(NAMES.map((name) => [name, assembleScript(directory, `${name}.lua`)]));
  rmSync(directory, { recursive: true });
  return scripts as Record<Name, string>;
}

export let redis: RedisServer;
export const scripts = {} as Record<Side, Record<Name, string>>;
let subscriber: Redis;
const heard: string[] = [];

/** Starts a Redis for the tests of a file. `piece`: how many holds a script adds to the index; if left out, as many as ever. */
export function useIndexedLocks(piece?: number): void {
  beforeAll(async () => {
    for (const side of SIDE_NAMES) scripts[side] = scriptsOf(SIDES[side], piece);
    // Redis would return a small hash in one part, whatever HSCAN asks for.
    redis = await startRedis({ args: ['--hash-max-ziplist-entries', '0'] });
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
}

const id = fc.tuple(fc.nat(2), fc.integer({ min: 1, max: 7 })).map(([client, number]) => `c${client}:${number}`);
const lease = fc.constantFrom(500, 2_000, 100_000, 200_000);
const anyMode = fc.constantFrom('exclusive', 'read', 'read', 'read', 'permits:1/19', 'permits:2/19*2', 'permits:3/19');
const owner = fc.constantFrom('', '', '', 'x', 'y', 'c0:1', 'c1:2');
const readers = fc.constantFrom('read', 'read', 'read', 'read', 'exclusive');
const permits = fc.constantFrom('permits:1/19', 'permits:1/19', 'permits:1/19*3', 'permits:2/19*2', 'exclusive');

type Call = { readonly script: Name; readonly args: ReadonlyArray<string | number> };
/** `lose`: deletes a part of the index. */
type Op =
  | Call
  | { readonly pass: number }
  | { readonly force: readonly number[] }
  | { readonly lose: keyof ReturnType<typeof indexKeys> };

/** The keys of the index of a key. */
export const indexKeys = (key: string) => ({ ends: `lock:ends:{${key}}`, aggregates: `lock:crowd:{${key}}` });

const request = (mode: fc.Arbitrary<string>) =>
  fc
    .record({ id, mode, owner, lease, batch: fc.constantFrom(0, 1, 16), waits: fc.constantFrom(0, 1) })
    .map(({ id, mode, owner, lease, batch, waits }) => {
      return [id, mode, owner, lease, batch, `0 ${waits} 3000 600000 3000 ${batch}`];
    });

/** The address stands for itself: each side uses its own key. */
export const ADDRESS = 'address';
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
        fc
          .tuple(id, mode, owner, lease)
          .map(([id, mode, owner, lease]) => [id, mode.replace(/\*.*/, ''), owner, lease, 0, 1_000, 4]),
      ),
    },
    {
      weight: 2,
      arbitrary: call(
        'fence',
        fc.tuple(id, fc.constantFrom(1, 16)).map(([id, size]) => [id, 1_000, size]),
      ),
    },
    {
      weight: 4,
      arbitrary: call(
        'survey',
        fc.tuple(
          mode.map((text) => text.replace(/:.*/, '')),
          owner,
        ),
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

const lose = fc.record({ lose: fc.constantFrom('ends' as const, 'aggregates' as const) });
const length = { minLength: 10, maxLength: 60, size: 'max' } as const;

const sequencesOf = (opsOfMode: (mode: fc.Arbitrary<string>) => fc.Arbitrary<Op>): fc.Arbitrary<Op[]> =>
  fc.oneof(...[readers, permits, anyMode].map((mode) => fc.array(opsOfMode(mode), length)));
/** Calls of scripts, in any order, while time passes. */
export const sequences = sequencesOf(opsOf);
/** The same, while parts of the index get lost. */
export const sequencesWithLosses = sequencesOf((mode) =>
  fc.oneof({ weight: 4, arbitrary: opsOf(mode) }, { weight: 1, arbitrary: lose }),
);

/** One key, and the scripts of one side at times that the test states. */
export class Lock {
  readonly key: string;
  readonly names: ReturnType<typeof redisKeys>;

  constructor(
    readonly side: Side,
    run: number,
  ) {
    this.key = `${side}${run}`;
    this.names = redisKeys('lock', this.key);
  }

  /** Like `call`. Then it continues as a client does, until the scripts have looked at everything. */
  async callToTheEnd(op: Call, micros: number): Promise<unknown> {
    if (!CONTINUED.has(op.script)) await this.settle(micros);
    const raw = await this.call(op, micros);
    if (op.script === 'acquire') return this.acquireToTheEnd(op.args, raw as readonly unknown[], micros);
    if (!Array.isArray(raw)) {
      await this.settle(micros);
      return op.script === 'set-limit' ? undefined : raw;
    }
    const reply: readonly unknown[] = raw;
    if (op.script === 'release') {
      const [released, , ...asked] = reply;
      const request = [ADDRESS, ...op.args.slice(3)];
      const next = asked.length > 0 ? await this.acquireToTheEnd(request, asked, micros) : [];
      await this.settle(micros);
      return [released, next];
    }
    await this.settle(micros);
    return CONTINUED.has(op.script) ? reply.slice(0, -1) : reply;
  }

  /** Grants what can be granted, and drops what is over, as a release that finds nothing to release. */
  async settle(micros: number): Promise<void> {
    for (let place = 0; place >= 0;) {
      const reply = await this.call({ script: 'release', args: [ADDRESS, 'c9:1', `0 0 ${place}`] }, micros);
      place = Number((reply as readonly unknown[])[1]);
    }
  }

  private async acquireToTheEnd(
    args: Call['args'],
    first: readonly unknown[],
    micros: number,
  ): Promise<readonly unknown[]> {
    let reply = first;
    while ([QUEUED, BUSY, QUEUED_UNSUBSCRIBED].includes(Number(reply[0])) && Number(reply[4]) >= 0) {
      const rest = String(args.at(-1)).replace(/^\d+/, String(reply[4]));
      reply = (await this.call({ script: 'acquire', args: [...args.slice(0, -1), rest] }, micros)) as unknown[];
    }
    await this.settle(micros);
    return reply;
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
    if (script === 'acquire-all' && Number(reply[0]) === BUSY) return reply.slice(0, 2);
    const start = script === 'acquire' ? 0 : script === 'release' ? 2 : reply.length;
    return [QUEUED, BUSY, QUEUED_UNSUBSCRIBED].includes(Number(reply[start])) ? reply.slice(0, start + 5) : reply;
  }

  async force(numbers: readonly number[], micros: number, toTheEnd: boolean): Promise<unknown> {
    const holds = Object.entries(await redis.admin.hgetall(this.names.state)).sort();
    const named = numbers.flatMap((number) => {
      const hold = holds[number];
      return hold === undefined ? [] : [hold[0], hold[1].split(' ')[3]!];
    });
    const op = { script: 'force-release', args: [ADDRESS, 0, ...named] } as const;
    return toTheEnd ? this.callToTheEnd(op, micros) : this.call(op, micros);
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

/** Fails if the index is wrong. Returns how much of the index there is. */
export async function expectConsistent(key: string, done: readonly string[] = []): Promise<'none' | 'part' | 'all'> {
  const { admin } = redis;
  const [names, { ends, aggregates }] = [redisKeys('lock', key), indexKeys(key)];
  const keys = [...Object.values(names), ends, aggregates];
  for (const key of keys) expect({ done, key, ttl: await admin.pttl(key) }).not.toEqual({ done, key, ttl: -1 });
  const size = await admin.hlen(names.state);
  if (size === 0) expect(await admin.exists(ends, aggregates)).toBe(0);
  const { sums, next, ...fields } = await admin.hgetall(aggregates);
  if (sums === undefined) return 'none';
  const [, count, units, special, ...kinds] = sums.split(' ').map(Number);
  const ids = (await admin.zrange(ends, 0, '-1')).sort();
  const holds = Object.entries(await admin.hgetall(names.state)).map(partsOf);
  const index = { count, units, special, kinds: kinds.slice(0, 3), fields, ids };
  // An incomplete index counts the holds that it has.
  const indexed = next === undefined ? holds : holds.filter(({ id }) => ids.includes(id));
  expect({ done, index }).toEqual({ done, index: indexOf(indexed) });
  return next === undefined ? 'all' : 'part';
}

/** Whether a handover would use the id of a hold that has expired. An id is used once. */
async function namesExpired({ names }: Lock, op: Op, micros: number): Promise<boolean> {
  if (!('script' in op) || (op.script !== 'offer' && op.script !== 'adopt')) return false;
  const hold = await redis.admin.hget(names.state, String(op.args[2]));
  return hold !== null && Number(hold.split(' ')[1]) <= micros / 1_000;
}

type Hold = ReturnType<typeof partsOf>;

function partsOf([id, text]: [string, string]) {
  const [, mode, owner] = /^(?:pushed:|alone:)?(\S+) \d+ \d+ \d+ (.+)$/.exec(text)!;
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

/**
 * Executes the calls on both sides, and fails if they differ. `toTheEnd`: each call is continued as a client does. Returns
 * whether there was an index.
 */
async function compare(ops: readonly Op[], run: number, toTheEnd = false): Promise<boolean> {
  const locks = SIDE_NAMES.map((side) => new Lock(side, run));
  // An hour ahead of the server's clock, so that no key expires while the scripts still look at it.
  const [seconds] = await redis.admin.time();
  let micros = (Number(seconds) + 3_600) * 1_000_000;
  let isIndexed = false;
  const done: string[] = [];
  for (const op of ops) {
    micros += 1_000;
    done.push(JSON.stringify(op));
    if ('pass' in op) {
      micros += op.pass * 1_000;
      continue;
    }
    if ('lose' in op) {
      await redis.admin.del(indexKeys(locks[0]!.key)[op.lose]);
      continue;
    }
    if (await namesExpired(locks[1]!, op, micros)) continue;
    const replies: unknown[] = [];
    for (const lock of locks) {
      if ('force' in op) replies.push(await lock.force(op.force, micros, toTheEnd));
      else replies.push(await (toTheEnd ? lock.callToTheEnd(op, micros) : lock.call(op, micros)));
    }
    // An index may not know. Then the client reads the holds.
    if ('script' in op && op.script === 'survey' && String(replies[0]) === '') replies[0] = replies[1];
    expect({ done, reply: replies[0] }).toEqual({ done, reply: replies[1] });
    const [index, list] = await Promise.all(locks.map((lock) => lock.contents()));
    expect({ done, contents: index }).toEqual({ done, contents: list });
    if ((await expectConsistent(locks[0]!.key, done)) !== 'none') isIndexed = true;
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
  return isIndexed;
}

/** Compares both sides for as many sequences as there is time for. */
export async function compareMany(of: fc.Arbitrary<Op[]>, toTheEnd = false): Promise<void> {
  let [run, indexed] = [0, 0];
  // Not the time limit of fast-check: it would leave a sequence that still runs to the next test.
  const end = performance.now() + 15_000;
  await fc.assert(
    fc.asyncProperty(of, async (ops) => {
      if (run > 0 && performance.now() > end) return;
      if (await compare(ops, ++run, toTheEnd)) indexed += 1;
    }),
    {
      numRuns: Number(process.env['RUNS'] ?? 60),
      seed: Number(process.env['SEED'] ?? 20_261_123),
      endOnFailure: process.env['SHRINK'] === undefined,
    },
  );
  expect(indexed).toBeGreaterThan(run / 2);
}

/** Calls a script of the side with the index, at the server's own time. */
export async function run(key: string, script: Name, ...args: Array<string | number>): Promise<number[]> {
  const { state, queue, waiters, fence, tombstones, limit } = redisKeys('lock', key);
  const keys = [state, queue, waiters, fence, tombstones, limit];
  const source = scripts.index[script];
  return (await redis.admin.eval(source, keys.length, ...keys, `lock:client:\n${key}`, ...args)) as number[];
}

/** Requests a lock. Returns a list even if the reply is a token alone, as it is for a free key. */
export async function acquire(
  key: string,
  id: string,
  mode: string,
  lease: number,
  waits = 0,
  place = 0,
): Promise<number[]> {
  const request = [id, mode, '', lease, 1, `${place} ${waits} 3000 600000 3000 1`];
  const reply: number | number[] = await run(key, 'acquire', ...request);
  return Array.isArray(reply) ? reply : [HELD, Math.floor(reply / 1_000), reply, lease, 1];
}
