import { createHash } from 'node:crypto';
import { jest } from '@jest/globals';
import fc from 'fast-check';
import { clientChannel } from '../../lib/keys/index.js';
import type { LuaScript } from '../../lib/store/redis/scripts.generated.js';
import { KeySpace } from '../../lab/simulation/redis/key-space.js';
import { schedules } from '../../lab/simulation/schedule/generate.js';
import { isInCluster } from '../../lab/simulation/schedule/schedule.js';
import { simulate } from '../../lab/simulation/simulate.js';
import { KEY_PREFIX } from '../../lab/simulation/world/call.js';
import { startRedis, type RedisServer, eventually } from '../../lab/testbed/locks/locks.js';

/**
 * The simulated Redis beside a real one (`LOCKS_TEST_REDIS`): random commands, and the scripts that simulated runs call. `SEED`
 * and `RUNS` in the environment choose others, and more of them.
 */
const SEED = Number(process.env['SEED'] ?? 20_261_126);
const RUNS = Number(process.env['RUNS'] ?? 40);
/** By how many ms two TTLs may differ, besides the time that a command took. */
const TOLERANCE = 2;

let redis: RedisServer;
let simulated: KeySpace;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(async () => {
  await redis.admin.flushall();
  simulated = new KeySpace(1);
});

type Args = ReadonlyArray<string | number>;

/** A script with its text, under a hash of its own. */
const scriptOf = (source: string, name = 'script'): LuaScript => ({
  name,
  source,
  sha1: createHash('sha1').update(source).digest('hex'),
});

/** ms for which a script of the real server may have been under way when the simulated one executed it. */
let slack = 0;
const micros = (): number => Math.round((performance.timeOrigin + performance.now()) * 1_000);

/** What both servers reply. */
async function both(script: LuaScript, keys: readonly string[], args: Args) {
  const before = micros();
  const real = await redis.admin.eval(script.source, keys.length, ...keys, ...args).catch((error: Error) => error);
  slack = Math.max(slack, (micros() - before) / 1_000);
  const { reply, fault } = simulated.run(before, script, keys, args);
  return [comparable(real), comparable(reply), fault] as const;
}

/** The library reads no error of a script in a run, since that ends the run. */
const comparable = (reply: unknown): unknown =>
  Array.isArray(reply) ? reply.map(comparable) : reply instanceof Error ? 'an error' : reply;

/** A key, its type, its end, and its value in an order of its own. */
interface Found {
  readonly key: string;
  readonly type: string;
  readonly ends: number;
  readonly value: readonly string[];
}

async function realState(): Promise<Found[]> {
  const names = (await redis.admin.keys('*')).sort();
  return Promise.all(
    names.map(async (key) => {
      const type = await redis.admin.type(key);
      const value =
        type === 'hash'
          ? pairs(Object.entries(await redis.admin.hgetall(key)).flat())
          : type === 'zset'
            ? await redis.admin.zrange(key, '0', '-1', 'WITHSCORES')
            : [(await redis.admin.get(key))!];
      const ttl = await redis.admin.pttl(key);
      return { key, type, ends: ttl < 0 ? -1 : micros() / 1_000 + ttl, value };
    }),
  );
}

function simulatedState(): Found[] {
  const now = micros();
  const names = simulated.names(now).sort();
  return simulated.look(now, ...names).map(({ type, ends, value }, i) => ({
    ...{ key: names[i]!, type, ends },
    value: typeof value === 'string' ? [value] : type === 'hash' ? pairs(value) : value,
  }));
}

/** The fields of a hash in their order, each with its value. */
const pairs = (list: readonly string[]): string[] =>
  Array.from({ length: list.length / 2 }, (_, i) => `${list[2 * i]} = ${list[2 * i + 1]}`).sort();

/** Numbers that depend on a TTL that a script has read, and the time when that was. */
const TIMES = /(?<=^sums = .* )\d+$/;
/** Whether a number follows the id of a client in the tombstones: it is such a number, too. */
const isEndOfClient = (before: string | undefined, key: string): boolean =>
  key.includes(':tombstones:') && before !== undefined && /^[a-z][^:]*$/.test(before);

async function compareStates(done: readonly string[], tolerance = TOLERANCE): Promise<void> {
  const before = micros();
  const real = await realState();
  slack = Math.max(slack, (micros() - before) / 1_000);
  const own = simulatedState();
  const stripped = (state: readonly Found[]): unknown =>
    state.map(({ ends, value, ...rest }) => ({
      ...{ ...rest, hasEnd: ends >= 0 },
      value: value.map((text, i) => (isEndOfClient(value[i - 1], rest.key) ? 'time' : text.replace(TIMES, 'time'))),
    }));
  expect({ done, state: stripped(own) }).toEqual({ done, state: stripped(real) });
  own.forEach(({ key, ends }, i) => {
    const apart = Math.abs(real[i]!.ends - ends);
    // A TTL that another TTL was made of may be off twice.
    if (ends >= 0 && apart > tolerance + 2 * slack)
      expect({ done, key, ends }).toEqual({ done, key, ends: real[i]!.ends });
  });
}

describe('the conversions between Lua and Redis', () => {
  it.each([
    ['numbers', 'return {1, -1, 3.99, -3.99, 1e15, 2^53, 0, -0.5}'],
    ['texts', "return {'', 'a b', 'ü', tostring(1e15), tostring(1.5), tostring(123456789012345678), 1 .. ''}"],
    ['booleans and nil', 'return {true, false, nil, 1}'],
    ['an empty list', 'return {}'],
    ['nil', 'return nil'],
    ['nothing', 'local a = 1'],
    ['lists in lists', "return {1, {2, {'3'}}, {}}"],
    ['tables with err and ok', "return {{ok = 'yes'}, {err = 'ERR no'}}"],
    ['the arguments', 'return {#KEYS, #ARGV, KEYS[1], ARGV[1], ARGV[2], KEYS[3] == nil}'],
    ['numbers as arguments', "redis.call('SET', KEYS[1], 1700000000123456) return redis.call('GET', KEYS[1])"],
    ['fractions as arguments', "redis.call('SET', KEYS[1], 0.25) return redis.call('GET', KEYS[1])"],
    [
      'replies of commands',
      "return {redis.call('GET', KEYS[1]) == false, redis.call('SET', KEYS[1], 'x').ok, redis.call('HLEN', KEYS[2])}",
    ],
    ['an error that is raised', "error('something')"],
    ['an error of a command', "redis.call('SET', KEYS[1], 1) return redis.call('HGET', KEYS[1], 'f')"],
    ['an error of a command that is caught', "redis.call('SET', KEYS[1], 1) return redis.pcall('HGET', KEYS[1], 'f')"],
    ['writes before an error', "redis.call('SET', KEYS[1], 1) error('later')"],
    ['an unknown command', "return redis.call('NONSENSE', KEYS[1])"],
    ['too few arguments', "return redis.call('HGET', KEYS[1])"],
    ['a wrong argument', "return redis.call('GET', {})"],
    ['a global that does not exist', 'return nonsense'],
    ['a global that is made', 'nonsense = 1'],
    ['formats', "return {string.format('%.0f', 1e15 + 0.5), string.format('%.17g', 0.1), string.format('%d', 3)}"],
    ['the clock', "local time = redis.call('TIME') return {#time, type(time[1]), #time[1]}"],
  ])('are those of the real server: %s', async (_, source) => {
    const [real, own] = await both(scriptOf(source), ['k1', 'k2'], ['a', 'ü']);
    expect(own).toEqual(real);
    await compareStates([source]);
  });
});

/** Names of keys, of fields and members, and numbers. */
const key = fc.constantFrom('k1', 'k2', 'k3');
const field = fc.constantFrom('a', 'b', 'c', 'd', 'ü');
const score = fc.oneof(
  fc.integer({ min: -5, max: 5 }).map(String),
  fc.constantFrom('1.5', '0.25', '1700000000123456', '4503599627370497'),
);
const bound = fc.oneof(
  score,
  fc.integer({ min: -3, max: 5 }).map((n) => `(${n}`),
  fc.constantFrom('-inf', '+inf'),
);
const rank = fc.integer({ min: -6, max: 6 }).map(String);
const words = (...parts: ReadonlyArray<string | fc.Arbitrary<string | readonly string[]>>): fc.Arbitrary<string[]> =>
  fc.tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part))).map((all) => all.flat());
const some = (each: fc.Arbitrary<string>): fc.Arbitrary<string[]> => fc.array(each, { minLength: 1, maxLength: 3 });
/** The words of one of these texts. */
const oneOf = (...texts: string[]): fc.Arbitrary<string[]> =>
  fc.constantFrom(...texts).map((text) => (text === '' ? [] : text.split(' ')));
const maybe = (text: string): fc.Arbitrary<string[]> => oneOf('', text);
const flagged = oneOf('', 'NX', 'XX', 'LT');

const command = fc.oneof(
  words(fc.constantFrom('DEL', 'UNLINK', 'EXISTS'), some(key)),
  words('PEXPIRE', key, fc.constantFrom('100000', '0', '-1')),
  words('PEXPIREAT', key, fc.constantFrom('1', '99999999999999')),
  words(fc.constantFrom('GET', 'HLEN', 'HGETALL', 'ZCARD'), key),
  words('SET', key, field, maybe('PX 100000')),
  words(fc.constantFrom('HGET', 'HDEL', 'ZREM', 'ZSCORE', 'ZRANK'), key, field),
  words(fc.constantFrom('HMGET', 'HDEL', 'ZREM'), key, some(field)),
  words('HSET', key, field, field, field, field),
  words('HSCAN', key, '0', 'COUNT', '100'),
  words('ZADD', key, flagged, score, field),
  words('ZADD', key, flagged, score, field, score, field),
  words('ZREMRANGEBYSCORE', key, bound, bound),
  words('ZRANGE', key, rank, rank, maybe('WITHSCORES')),
  words(
    ...['ZRANGE', key, bound, bound, 'BYSCORE', maybe('REV')],
    oneOf('', 'LIMIT 0 2', 'LIMIT 1 1', 'LIMIT 1 -1'),
    maybe('WITHSCORES'),
  ),
  words('ZREVRANGE', key, rank, rank, 'WITHSCORES'),
  words('PUBSUB', 'NUMSUB', oneOf('', 'c1', 'c1 c2')),
  words('PUBLISH', 'c1', field),
);

const WITHOUT_ORDER = /^(HGETALL|HSCAN)$/;
const READ_WITH = 'return redis.pcall(unpack(ARGV))';

describe('random commands', () => {
  it('have the replies and the effects of the real server', async () => {
    const run = async (commands: readonly string[][]): Promise<void> => {
      await redis.admin.flushall();
      simulated = new KeySpace(commands.length);
      const done: string[] = [];
      for (const each of commands) {
        done.push(each.join(' '));
        const [real, own] = await both(scriptOf(READ_WITH), ['k1', 'k2', 'k3'], each);
        const shown = (reply: unknown): unknown =>
          WITHOUT_ORDER.test(each[0]!) && Array.isArray(reply) ? (reply as unknown[]).flat().map(String).sort() : reply;
        expect({ done, reply: shown(own) }).toEqual({ done, reply: shown(real) });
      }
      await compareStates(done);
    };
    await fc.assert(fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 30, size: 'max' }), run), {
      ...{ seed: SEED, numRuns: RUNS, endOnFailure: process.env['SHRINK'] === undefined },
    });
  });

  it('find each field of a large hash with HSCAN', () => {
    const fields = Array.from({ length: 500 }, (_, i) => `field ${i}`);
    simulated.command(1e15, 'HSET', 'k', ...fields.flatMap((name) => [name, name]));
    const found = new Set<string>();
    let cursor = '0';
    do {
      const [next, part] = simulated.command(1e15, 'HSCAN', 'k', cursor, 'COUNT', 32).reply as [string, string[]];
      for (let i = 0; i < part.length; i += 2) found.add(part[i]!);
      cursor = next;
    } while (cursor !== '0');
    expect(found.size).toBe(500);
  });

  it('end a key with its TTL', async () => {
    await both(scriptOf("redis.call('SET', KEYS[1], 'x', 'PX', 20)"), ['k1'], []);
    await eventually(async () => (await redis.admin.exists('k1')) === 0);
    expect(simulatedState()).toEqual([]);
    const at = (time: number): unknown => simulated.command(time * 1_000, 'PTTL', 'k').reply;
    simulated.command(1e15, 'SET', 'k', 'x', 'PX', '5');
    expect([at(1e12), at(1e12 + 4), at(1e12 + 5), at(1e12 + 6)]).toEqual([5, 1, 0, -2]);
  });
});

/** Another life of a process is another client. Those of the third process are absent here. */
const PRESENT = ['p', 'q'].flatMap((place) => [1, 2, 3, 4].map((life) => `${place}00${life}`));
/** The states are compared after so many calls. */
const COMPARED = 5;
const MOST_CALLS = 300;
/** ms by which two TTLs may differ then: a script may find on one of the servers only that a TTL is too short. */
const SHORT = 1_500;

/**
 * A script that gets its time in µs behind its arguments. Keys live longer by 1,000 s, so none ends meanwhile: it would end on
 * one of the servers first.
 */
const timed = ({ source, name }: LuaScript): LuaScript =>
  scriptOf(
    `local server, all, longer = redis, ARGV, 1e6
local micros, ARGV = tonumber(table.remove(all)), all
local redis = { pcall = server.pcall, REDIS_VERSION_NUM = server.REDIS_VERSION_NUM }
function redis.call(...)
  local name, key, ms, px, ends = ...
  if name == 'TIME' then return { string.format('%.0f', math.floor(micros / 1e6)), string.format('%.0f', micros % 1e6) } end
  if name == 'PEXPIREAT' then name, ms = 'PEXPIRE', ms - math.floor(micros / 1000) end
  if name == 'PEXPIRE' then return server.call(name, key, tonumber(ms) > 0 and ms + longer or ms) end
  if name == 'PTTL' then return server.call(name, key) - longer end
  if name == 'SET' and px then return server.call(name, key, ms, px, ends + longer) end
  return server.call(...)
end
${source}`,
    name,
  );

/** The scripts that a server executes in a simulated run until it loses its data. */
async function callsOf(schedule: Parameters<typeof simulate>[0]): Promise<Array<Parameters<KeySpace['run']>>> {
  const run = jest.spyOn(KeySpace.prototype, 'run');
  try {
    await simulate(schedule);
    const { calls, contexts } = run.mock;
    return calls.filter((_, i) => contexts[i] === contexts[0]);
  } finally {
    run.mockRestore();
  }
}

describe('the scripts that simulated runs call', () => {
  const called = new Set<string>();
  let listening: RedisServer['admin'];
  beforeAll(async () => {
    listening = redis.admin.duplicate();
    await listening.subscribe(...PRESENT.map((client) => clientChannel(KEY_PREFIX, client)));
  });
  afterAll(() => listening.disconnect());

  // With small limits, each server reads a large hash in pieces of its own.
  const usual = fc
    .sample(schedules, { seed: SEED, numRuns: 10 * RUNS })
    .filter((schedule) => !isInCluster(schedule) && !schedule.hasSmallLimits);
  const struck = (['force release', 'permits set', 'server emptied', 'vote ended'] as const).flatMap((kind) =>
    usual.filter(({ faults }) => faults.some((fault) => fault.kind === kind)).slice(0, 5),
  );
  const replicated = usual.filter(({ visits }) => visits.some(({ replicas }) => replicas)).slice(0, 3);
  const runs = [...new Set([...usual.slice(0, RUNS / 4), ...struck, ...replicated])];

  it.each(runs.map((schedule, i) => [i, schedule] as const))(
    'have the replies and the effects of the real server: run %d',
    async (_, schedule) => {
      for (const client of PRESENT) simulated.subscribed(clientChannel(KEY_PREFIX, client), 1);
      const done: string[] = [];
      for (const [time, script, keys, args] of (await callsOf(schedule)).slice(0, MOST_CALLS)) {
        called.add(script.name);
        done.push(JSON.stringify([time, script.name, ...args]));
        const [real, own, fault] = await both(timed(script), keys, [...args, time]);
        const shown = (reply: unknown): unknown => withoutOrder(script.name, reply);
        expect({ done, reply: shown(own), fault }).toEqual({ done, reply: shown(real) });
        if (done.length % COMPARED === 0) await compareStates(done, SHORT);
      }
      await compareStates(done, SHORT);
    },
  );

  it('include each script that callers of the simulation need', () => {
    const ofOne = ['acquire', 'acquire-all', 'release', 'renew', 'hand-over', 'set-limit', 'confirm', 'force-release'];
    const ofMasters = ['fence', 'reinstate', 'inspect'];
    const ofLatches = ['latch-set', 'latch-count', 'latch-count-down'];
    expect([...ofOne, ...ofMasters, ...ofLatches].filter((name) => !called.has(name))).toEqual([]);
  });
});

/** Both read hashes in orders of their own: replies name any holds, and some are lists of all. */
function withoutOrder(script: string, reply: unknown): unknown {
  if (!Array.isArray(reply)) return reply;
  if (script === 'inspect') return [reply[0], [...(reply[1] as unknown[])].map(String).sort(), ...reply.slice(2)];
  return reply.filter((part) => typeof part !== 'string' || !/^([pqr]\d{3}|handover):/.test(part));
}
