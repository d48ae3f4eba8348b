import fc from 'fast-check';
import type { ChainableCommander } from 'ioredis';
import { redisKeys } from '../../../lib/keys/index.js';
import { REPLY_CODES } from '../../../lib/store/protocol.generated.js';
import { SCRIPTS } from '../../../lib/store/redis/scripts.generated.js';
import { startRedis, type RedisServer } from '../../../lab/testbed/servers/redis-server.mjs';

/** `acquire` returns here before it looks at the rest of its text. */
const SHORT_PATH = 'if known == 0 or last and ';
const SHORT_PATH_OFF = 'if false and ';

const RUNS = 400;

/** Often empty: the short path is for a free key. */
const oftenEmpty = <T>(list: fc.Arbitrary<T[]>): fc.Arbitrary<T[]> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant<T[]>([]) }, list);
const LEASES = [1_000, 30_000, 86_400_000];

let redis: RedisServer;

beforeAll(async () => {
  redis = await startRedis();
});
beforeEach(() => redis.admin.flushall());
afterAll(() => redis.stop());

/** The contents of Redis before the request, as texts of scripts: all times count from the request. */
type Situation = typeof situations extends fc.Arbitrary<infer Value> ? Value : never;
const situations = fc.record({
  /** The last token: `undefined`, or so many µs before or after the server's time; `text`: foreign data. */
  fence: fc.constantFrom(undefined, -60_000_000, -1, 0, 1, 5_000_000, 'text' as const),
  holds: oftenEmpty(
    fc.array(
      fc.record({
        mode: fc.constantFrom('exclusive', 'read', 'permits:1/2'),
        status: fc.constantFrom('held', 'held', 'pushed', 'kept', 'alone'),
        ends: fc.constantFrom(-200, 400_000),
        owner: fc.constantFrom('owner', 'other'),
      }),
      { maxLength: 1 },
    ),
  ),
  tickets: oftenEmpty(fc.array(fc.constantFrom(-100, 60_000), { maxLength: 2 })),
  tombstones: oftenEmpty(fc.subarray(['me:1', 'other:9'])),
  request: fc.record({
    mode: fc.constantFrom('exclusive', 'exclusive', 'exclusive', 'read', 'permits:1/2'),
    owner: fc.constantFrom('', '', 'owner', 'a b'),
    lease: fc.constantFrom(...LEASES),
    uncontendedBatchSize: fc.constantFrom(0, 1, 2, 1_000),
    waits: fc.constantFrom(0, 1),
  }),
});

/** The same script with a clock that stands still, so that both paths see one time. */
const atTime = (source: string, micros: number): string =>
  source.replaceAll("redis.call('TIME')", `{ '${Math.floor(micros / 1_000_000)}', '${micros % 1_000_000}' }`);

function prepare(batch: ChainableCommander, key: string, situation: Situation, micros: number): void {
  const { fence, holds, tickets, tombstones } = situation;
  const now = Math.floor(micros / 1_000);
  const keys = redisKeys('lock', key);
  if (fence !== undefined) batch.set(keys.fence, fence === 'text' ? 'foreign' : micros + fence, 'PX', 700_000);
  holds.forEach(({ mode, status, ends, owner }, i) => {
    batch.hset(
      keys.state,
      `holder${i}:1`,
      `${mode} ${status} ${now + ends} ${micros - 90_000_000 + i} ${now - 500} ${owner}`,
    );
  });
  if (holds.length > 0) batch.pexpire(keys.state, 500_000);
  tickets.forEach((stale, i) => {
    batch.zadd(keys.queue, String(i + 1), `waiter${i}:1`);
    batch.hset(
      keys.waiters,
      `waiter${i}:1`,
      `${now - 100} exclusive ${now + 900} ${now + stale} 30000 3000 1 waiter${i}:1`,
    );
  });
  if (tickets.length > 0) batch.pexpire(keys.queue, 500_000).pexpire(keys.waiters, 500_000);
  for (const id of tombstones) batch.zadd(keys.tombstones, String(now + 5_000), id);
  if (tombstones.length > 0) batch.pexpire(keys.tombstones, 500_000);
}

/** Where the tombstones are among what is stored. */
const TOMBSTONES = 11;

/** Tombstones, those of clients with their ends in steps of 10 s: they count from a TTL, which no clock can stop. */
const inSteps = (tombstones: readonly string[], now: number): unknown[] =>
  tombstones.map((each, i) =>
    i % 2 === 0 || tombstones[i - 1]!.includes(':') ? each : Math.ceil((Number(each) - now) / 10_000),
  );

/** A key of the test, and its TTL in ms. */
const [PROBE, PROBE_TTL] = ['probe', 3_600_000];

const serverMicros = async (): Promise<number> => Math.round((await redis.time()) * 1_000);

interface Outcome {
  /** Whether the reply was the token alone. */
  readonly isShort: boolean;
  readonly reply: unknown;
  /** For each role the type, and the value. */
  readonly stored: unknown[];
  readonly ttls: number[];
}

/**
 * The reply of `acquire` and the state that it leaves in a situation, by each of two texts: all at one moment of the
 * server.
 */
async function outcomesOf(sources: readonly string[], situation: Situation, name: string) {
  const micros = await serverMicros();
  const batch = redis.admin.multi();
  // By the clock of the server: its TTL tells what has passed since `micros`.
  batch.set(PROBE, '', 'PXAT', Math.floor(micros / 1_000) + PROBE_TTL);
  for (const i of sources.keys()) prepare(batch, `${name}${i}`, situation, micros);
  const prepared = batch.length - 1; // without MULTI
  for (const [i, source] of sources.entries()) {
    const key = `${name}${i}`;
    const keys = redisKeys('lock', key);
    const { state, queue, waiters, fence, tombstones, limit } = keys;
    const names = Object.values(keys);
    const { mode, owner, lease, uncontendedBatchSize, waits } = situation.request;
    const request = ['me:1', mode, owner, lease, uncontendedBatchSize, `0 ${waits} 3000 60000 3000 1 `];
    batch.eval(atTime(source, micros), names.length, ...names, `lock:client:\n${key}`, ...request);
    for (const each of names) batch.type(each);
    batch.hgetall(state).zrange(queue, 0, '-1', 'WITHSCORES').hgetall(waiters).get(fence);
    batch.zrange(tombstones, 0, '-1', 'WITHSCORES').get(limit);
    for (const each of names) batch.pttl(each);
  }
  batch.pttl(PROBE);
  const answers = ((await batch.exec()) ?? []).map(([error, answer]) => (error ? textOf(error) : answer));
  const elapsed = PROBE_TTL - Number(answers.pop());
  const size = (answers.length - prepared) / sources.length;
  const outcomes = [...sources.keys()].map((i): Outcome => {
    const [reply, ...rest] = answers.slice(prepared + i * size, prepared + (i + 1) * size);
    rest[TOMBSTONES] = inSteps(rest[TOMBSTONES] as string[], micros / 1_000);
    const told = typeof reply === 'number' ? wholeReply(reply, situation) : reply;
    return {
      isShort: typeof reply === 'number',
      reply: Array.isArray(told) ? told.map(String) : told,
      stored: rest.slice(0, 13),
      ttls: rest.slice(13).map(Number),
    };
  });
  return { outcomes, elapsed };
}

/** What the whole script replies in place of the token alone. */
const wholeReply = (token: number, { request }: Situation): number[] => [
  REPLY_CODES.HELD,
  Math.floor(token / 1_000),
  -1,
  token,
  request.lease,
  Math.max(1, request.uncontendedBatchSize),
];

/** The message of an error, without the place in the script. */
const textOf = (error: Error): string => error.message.replace(/script: \w+|user_script:\d+|f_\w+/g, '');

it('the short path of acquire leaves the same reply, keys, values and TTLs as the whole script', async () => {
  const { source } = SCRIPTS.acquire;
  expect(source.split(SHORT_PATH)).toHaveLength(2);
  const whole = source.replace(SHORT_PATH, SHORT_PATH_OFF);
  let [run, short] = [0, 0];
  await fc.assert(
    fc.asyncProperty(situations, async (situation) => {
      run += 1;
      const { outcomes, elapsed } = await outcomesOf([source, whole], situation, `run${run}:`);
      const [one, other] = outcomes as [Outcome, Outcome];
      expect(one.reply).toEqual(other.reply);
      expect(one.stored).toEqual(other.stored);
      one.ttls.forEach((ttl, i) => {
        const expected = other.ttls[i]!;
        expect(Math.sign(ttl)).toBe(Math.sign(expected));
        // Redis counts one whole ms after the other between the request and each TTL, so rounding adds nothing. A TTL may
        // lack that time twice: the scripts add what is left of one key to a clock that stands still.
        expect(Math.abs(ttl - expected)).toBeLessThanOrEqual(2 * elapsed);
      });
      expect([one.isShort, other.isShort]).toEqual([takesShortPath(situation), false]);
      if (one.isShort) short += 1;
      await redis.admin.flushall();
    }),
    { numRuns: RUNS },
  );
  // Enough situations took the short path, and enough did not.
  expect(short).toBeGreaterThan(RUNS / 20);
  expect(run - short).toBeGreaterThan(RUNS / 20);
});

/** Whether the key is free and its last token is behind the clock. */
const takesShortPath = ({ request, fence, holds, tickets, tombstones }: Situation): boolean =>
  request.mode === 'exclusive' &&
  holds.length + tickets.length + tombstones.length === 0 &&
  (fence === undefined || (typeof fence === 'number' && fence < 0));
