import { join } from 'node:path';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { redisKeys } from '../../../lib/keys/index.js';
import { withLua } from '../../../lab/mutations/mutate.mjs';
import { assembleScript } from '../../../scripts/lib/lua-source.mjs';
import { startRedis, type RedisServer, eventually } from '../../../lab/testbed/locks/locks.js';

/** How many holds a script of each side looks at. */
const SIDES = { pieces: 2, whole: 1_000 } as const;
type Side = keyof typeof SIDES;
const SIDE_NAMES = ['pieces', 'whole'] as const;

/** Codes of replies (`lua/shared/reply-codes.lua`). */
export const [QUEUED, HELD, BUSY, QUEUED_UNSUBSCRIBED] = [0, 1, 2, 5];
/** The scripts whose replies say where to go on. */
const CONTINUED: ReadonlySet<string> = new Set(['acquire', 'release', 'keep-units', 'set-limit', 'force-release']);

const NAMES = [
  'acquire',
  'acquire-all',
  'fence',
  'force-release',
  'hand-over',
  'keep-units',
  'reinstate',
  'release',
  'renew',
  'set-limit',
  'survey',
] as const;
type Name = (typeof NAMES)[number];

/** The scripts that look at this many holds, and make lost ends again in such pieces. */
function scriptsOf(holds: number, piece: number): Record<Name, string> {
  const sizes = Object.entries({ ENDS_PER_READ: holds, HOLDS_PER_PIECE: piece }).map(([constant, size]) => {
    return { name: constant, file: 'lua/shared/ends.lua', from: `${constant} = 32`, to: `${constant} = ${size}` };
  });
  const assembled = (directory: string) =>
    NAMES.map((name) => [name, assembleScript(join(directory, 'lua'), `${name}.lua`)]);
  return Object.fromEntries(withLua(sizes, assembled)) as Record<Name, string>;
}

export let redis: RedisServer;
export const scripts = {} as Record<Side, Record<Name, string>>;
let subscriber: Redis;
const heard: string[] = [];

/** Starts a Redis for the tests of a file. `pieces`: how many holds a script looks at, or adds to lost ends. */
export function useHoldsInPieces({ holds = SIDES.pieces, piece = 4 }: { holds?: number; piece?: number } = {}): void {
  beforeAll(async () => {
    scripts.pieces = scriptsOf(holds, piece);
    scripts.whole = scriptsOf(SIDES.whole, SIDES.whole);
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
/** `lose`: deletes the ends. */
type Op = Call | { readonly pass: number } | { readonly force: readonly number[] } | { readonly lose: 'ends' };

const request = (mode: fc.Arbitrary<string>): fc.Arbitrary<Call['args']> =>
  fc
    .record({ id, mode, owner, lease, batch: fc.constantFrom(0, 1, 16, 1_000), waits: fc.constantFrom(0, 1) })
    .map(({ id, mode, owner, lease, batch, waits }) => {
      return [id, mode, owner, lease, batch, `0 ${waits} 3000 600000 3000 ${batch}`];
    });

/** The address stands for itself: each side uses its own key. */
export const ADDRESS = 'address';
type Arg = string | number;

/** Calls of a script. An argument may stand for any of several, or for several arguments. */
const calls = (weight: number, script: Name, ...args: ReadonlyArray<Arg | fc.Arbitrary<Arg | readonly Arg[]>>) => ({
  weight,
  arbitrary: fc
    .tuple(...args.map((arg) => (typeof arg === 'object' ? arg : fc.constant(arg))))
    .map((all): Call => ({ script, args: all.flat() })),
});

const opsOf = (mode: fc.Arbitrary<string>): fc.Arbitrary<Op> => {
  const times = fc
    .tuple(fc.constantFrom(0, 0, 0, 5_000), fc.constantFrom(0, 0, 0, 800, 90_000))
    .map(([tombstone, keep]) => `${tombstone} ${keep} 0`);
  const without = (pattern: RegExp) => mode.map((text) => text.replace(pattern, ''));
  return fc.oneof(
    calls(20, 'acquire', ADDRESS, request(mode)),
    calls(2, 'acquire', ADDRESS, request(fc.constant('permits:0/9')).map(drained)),
    calls(2, 'acquire-all', request(mode)),
    calls(2, 'release', ADDRESS, id, times),
    calls(8, 'release', ADDRESS, id, times, request(mode)),
    calls(4, 'renew', id, lease),
    calls(2, 'hand-over', ADDRESS, id, 'offer:1', lease),
    calls(2, 'hand-over', ADDRESS, 'offer:1', id, lease),
    calls(2, 'keep-units', ADDRESS, id, fc.constantFrom(1, 2), fc.constantFrom(0, 900)),
    calls(1, 'set-limit', ADDRESS, fc.nat(12), '9999999999999999'),
    calls(2, 'reinstate', id, without(/\*.*/), owner, lease, 0, 1_000, 4),
    calls(2, 'fence', id, 1_000, fc.constantFrom(1, 16)),
    calls(4, 'survey', without(/:.*/), owner),
    { weight: 2, arbitrary: fc.record({ pass: fc.constantFrom(1, 600, 2_100, 60_000) }) },
    { weight: 1, arbitrary: fc.record({ force: fc.uniqueArray(fc.nat(9), { maxLength: 6 }) }) },
  );
};

/** A request for all free permits does not wait. */
const drained = (args: Call['args']): Call['args'] => [...args.slice(0, -1), '0 0 3000 600000 3000 1'];

const lose = fc.record({ lose: fc.constant('ends' as const) });
const length = { minLength: 10, maxLength: 60, size: 'max' } as const;

const sequencesOf = (opsOfMode: (mode: fc.Arbitrary<string>) => fc.Arbitrary<Op>): fc.Arbitrary<Op[]> =>
  fc.oneof(...[readers, permits, anyMode].map((mode) => fc.array(opsOfMode(mode), length)));
/** Calls of scripts, in any order, while time passes. */
export const sequences = sequencesOf(opsOf);
/** The same, while the ends get lost. */
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
      const [released, ...asked] = reply;
      const request = [ADDRESS, ...op.args.slice(3)];
      const next = asked.length > 1 ? await this.acquireToTheEnd(request, asked, micros) : [];
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
    while ([QUEUED, BUSY, QUEUED_UNSUBSCRIBED].includes(Number(reply[0])) && Number(reply[2]) >= 0) {
      const rest = String(args.at(-1)).replace(/^\d+/, String(reply[2]));
      reply = (await this.call({ script: 'acquire', args: [...args.slice(0, -1), rest] }, micros)) as unknown[];
    }
    await this.settle(micros);
    // After a grant or a refusal, the other waiters have gone on from this rank.
    return Array.isArray(reply) ? reply.map((part, i) => (i === 2 ? -1 : (part as unknown))) : reply;
  }

  async call({ script, args }: Call, micros: number): Promise<unknown> {
    const keys = script === 'renew' ? [this.names.state] : Object.values(this.names);
    const time = `{ '${Math.floor(micros / 1_000_000)}', '${micros % 1_000_000}' }`;
    const source = scripts[this.side][script].replaceAll("redis.call('TIME')", time);
    const given = args.map((arg) => (arg === ADDRESS ? `lock:client:\n${this.key}` : arg));
    const reply = await redis.admin.eval(source, keys.length, ...keys, ...given);
    if (!Array.isArray(reply)) return reply;
    // A request that is not granted names any four holds.
    if (script === 'acquire-all' && Number(reply[0]) === BUSY) return reply.slice(0, 2);
    const start = script === 'acquire' ? 0 : script === 'release' && reply.length > 2 ? 1 : reply.length;
    if (![QUEUED, BUSY, QUEUED_UNSUBSCRIBED].includes(Number(reply[start]))) return reply;
    // When it retries depends on how many holds the script looks at.
    return reply.slice(0, start + 5).map((part, i) => (i === start + 3 ? 0 : (part as unknown)));
  }

  async force(numbers: readonly number[], micros: number): Promise<unknown> {
    const holds = await readHolds(this.names.state);
    const named = numbers.flatMap((number) => {
      const hold = holds[number];
      return hold === undefined ? [] : [hold.id, hold.since];
    });
    const op = { script: 'force-release', args: [ADDRESS, 0, ...named] } as const;
    return this.callToTheEnd(op, micros);
  }

  async contents(): Promise<unknown> {
    const { state, queue, waiters, fence, tombstones, limit } = this.names;
    const { admin } = redis;
    return {
      holds: await readHolds(state),
      queue: await admin.zrange(queue, 0, '-1', 'WITHSCORES'),
      // When a waiter retries depends on how many holds the script looks at.
      waiters: mapValues(await admin.hgetall(waiters), (text) => text.replace(/^(\d+ \S+) \d+/, '$1')),
      tokens: await admin.get(fence),
      // The end of the tombstone of a client counts from a TTL, which passes between the two sides.
      tombstones: (await admin.zrange(tombstones, 0, '-1', 'WITHSCORES')).filter(
        (_, i, all) => i % 2 === 0 || all[i - 1]!.includes(':'),
      ),
      limit: (await admin.get(limit))?.split(' ')[0],
    };
  }
}

const mapValues = (record: Record<string, string>, of: (text: string) => string): Record<string, string> =>
  Object.fromEntries(Object.entries(record).map(([name, text]) => [name, of(text)]));

/** Fails if the sums or the ends are wrong. Returns whether the state has the form of many holds, and all of the ends. */
export async function expectConsistent(key: string, done: readonly string[] = []): Promise<'none' | 'part' | 'all'> {
  const { admin } = redis;
  const names = redisKeys('lock', key);
  for (const name of Object.values(names)) {
    expect({ done, name, ttl: await admin.pttl(name) }).not.toEqual({ done, name, ttl: -1 });
  }
  const holds = await readHolds(names.state);
  const fields = Object.entries(await admin.hgetall(names.state)).filter(([field]) => field.startsWith('#'));
  const { '#sums': sums, '#next': next, ...owners } = Object.fromEntries(fields);
  if (sums === undefined) {
    expect({ done, fields, holds: holds.length }).toEqual({ done, fields: [], holds: Math.min(holds.length, 1) });
    return 'none';
  }
  const of = (kind: string): Hold[] => holds.filter((hold) => hold.kind === kind);
  const named = holds.filter(({ id, owner, status }) => owner !== id && status !== 'kept');
  const entries = await admin.zrange(names.ends, 0, '-1', 'WITHSCORES');
  const ends = new Map(
    entries.flatMap((member, i) => (i % 2 === 0 ? [[member, Number(entries[i + 1])] as const] : [])),
  );
  const marks = [...ends.keys()].filter((member) => member.startsWith('!'));
  const expected = [
    ...[holds.length, holds.reduce((sum, { units }) => sum + units, 0), of('exclusive').length, of('read').length],
    ...[named.length, sums.split(' ').at(-1)],
  ];
  expect({ done, sums, owners }).toEqual({ done, sums: expected.join(' '), owners: countsOf(named) });
  const tooLate = holds.filter(({ id, ends: end }) => ends.get(id)! > end);
  const unknown = [...ends.keys()].filter((id) => !holds.some((hold) => hold.id === id.replace('!', '')));
  expect({ done, tooLate, unknown }).toEqual({ done, tooLate: [], unknown: [] });
  const isWhole = next === undefined && ends.size - marks.length === holds.length;
  if (isWhole) expect({ done, marks: marks.length }).toEqual({ done, marks: Number(sums.split(' ').at(-1)) });
  return isWhole ? 'all' : 'part';
}

/** How many holds count for each owner. */
function countsOf(named: readonly Hold[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const { kind, owner } of named) {
    const field = `#owner:${kind}:${owner}`;
    fields[field] = String(Number(fields[field] ?? 0) + 1);
  }
  return fields;
}

/** Whether a handover would use the id of a hold that has expired. An id is used once. */
async function namesExpired({ names }: Lock, op: Op, micros: number): Promise<boolean> {
  if (!('script' in op) || op.script !== 'hand-over') return false;
  const hold = (await readHolds(names.state)).find(({ id }) => id === String(op.args[2]));
  return hold !== undefined && hold.ends <= micros / 1_000;
}

type Hold = ReturnType<typeof partsOf>;

function partsOf([field, text]: [string, string]) {
  const [, mode, status, ends, token, since, owner] = /^(\S+) (\w+) (\d+) (\d+) (\d+) (.+)$/.exec(text)!;
  const [, kind, units] = /^(\w+):?(\d*)/.exec(mode!)!;
  return {
    ...{ id: field.replace(/^\+/, ''), mode: mode!, status: status!, ends: Number(ends), token: token!, since: since! },
    ...{ owner: owner!, kind: kind!, units: Number(units) },
  };
}

/** The holds of a state, in either form. */
export async function readHolds(state: string): Promise<Hold[]> {
  const entries = Object.entries(await redis.admin.hgetall(state)).filter(([field]) => !field.startsWith('#'));
  return entries.map(partsOf).sort((a, b) => (a.id < b.id ? -1 : 1));
}

/**
 * Executes the calls on both sides, continues each as a client does, and fails if they differ. Returns whether there were
 * many holds.
 */
async function compare(ops: readonly Op[], run: number): Promise<boolean> {
  const locks = SIDE_NAMES.map((side) => new Lock(side, run));
  // An hour ahead of the server's clock, so that no key expires while the scripts still look at it.
  const [seconds] = await redis.admin.time();
  let micros = (Number(seconds) + 3_600) * 1_000_000;
  let areMany = false;
  const done: string[] = [];
  for (const op of ops) {
    micros += 1_000;
    done.push(JSON.stringify(op));
    if ('pass' in op) {
      micros += op.pass * 1_000;
      continue;
    }
    if ('lose' in op) {
      await redis.admin.del(locks[0]!.names.ends);
      continue;
    }
    if (await namesExpired(locks[1]!, op, micros)) continue;
    const replies: unknown[] = [];
    for (const lock of locks) {
      if ('force' in op) replies.push(await lock.force(op.force, micros));
      else replies.push(await lock.callToTheEnd(op, micros));
    }
    // A script that looks at some of the holds may not know. Then the client reads the holds.
    if ('script' in op && op.script === 'survey' && String(replies[0]) === '') replies[0] = replies[1];
    expect({ done, reply: replies[0] }).toEqual({ done, reply: replies[1] });
    const [pieces, whole] = await Promise.all(locks.map((lock) => lock.contents()));
    expect({ done, contents: pieces }).toEqual({ done, contents: whole });
    for (const { key } of locks) if ((await expectConsistent(key, done)) !== 'none') areMany = true;
  }
  await redis.admin.publish('lock:client:c0', `end ${run}`);
  await eventually(() => heard.includes(`end ${run}`));
  const of = (side: Side): string[] =>
    // With more than four holders, it is open which of them get `yield`. When the head retries depends on how many holds a
    // script looks at.
    heard
      .filter((text) => text.endsWith(` ${side}${run}`) && !/^(yield|retry)/.test(text))
      .map((text) => text.replace(`${side}${run}`, ''))
      .sort();
  expect({ done, messages: of('pieces') }).toEqual({ done, messages: of('whole') });
  heard.length = 0;
  return areMany;
}

/** Compares both sides for as many sequences as there is time for. */
export async function compareMany(of: fc.Arbitrary<Op[]>): Promise<void> {
  let [run, many] = [0, 0];
  // Not the time limit of fast-check: it would leave a sequence that still runs to the next test.
  const end = performance.now() + 15_000;
  await fc.assert(
    fc.asyncProperty(of, async (ops) => {
      if (run > 0 && performance.now() > end) return;
      if (await compare(ops, ++run)) many += 1;
    }),
    {
      numRuns: Number(process.env['RUNS'] ?? 60),
      seed: Number(process.env['SEED'] ?? 20_261_123),
      endOnFailure: process.env['SHRINK'] === undefined,
    },
  );
  expect(many).toBeGreaterThan(run / 2);
}

/** Calls a script of the side that looks at few holds, at the server's own time. */
export async function run(key: string, script: Name, ...args: Array<string | number>): Promise<number[]> {
  const keys = Object.values(redisKeys('lock', key));
  const source = scripts.pieces[script];
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
  return Array.isArray(reply) ? reply : [HELD, Math.floor(reply / 1_000), -1, reply, lease, 1];
}
