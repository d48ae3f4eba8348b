import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { redisKeys } from '../../lib/keys/index.js';
import { SCRIPTS, type LuaScript, type ScriptName } from '../../lib/store/redis/scripts.generated.js';
import { KeySpace } from '../../lab/simulation/redis/key-space.js';
import { startRedis, type RedisServer } from '../../lab/testbed/servers/redis-server.mjs';
import { eventually } from '../../lab/testbed/wait/eventually.mjs';

/**
 * The simulated Redis beside a real one (`LOCKS_TEST_REDIS`): the same scripts and commands, at random. `SEED` and `RUNS`
 * in the environment run others, and more of them.
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

/** What both servers reply. `shift`: by how many ms `TIME` is ahead of the clock that ends keys. */
async function both(script: LuaScript, keys: readonly string[], args: Args, shift?: number) {
  const before = micros();
  const time = before + (shift ?? 0) * 1_000;
  const fixed = `{ '${Math.floor(time / 1e6)}', '${time % 1e6}' }`;
  const shifted =
    shift === undefined ? script : scriptOf(script.source.replaceAll("redis.call('TIME')", fixed), script.name);
  const real = await redis.admin.eval(shifted.source, keys.length, ...keys, ...args).catch((error: Error) => error);
  slack = Math.max(slack, (micros() - before) / 1_000);
  const { reply, fault } = simulated.run(before, shifted, keys, args);
  return [comparable(real), comparable(reply), fault] as const;
}

/** An error without the place of the script in which it occurred: versions of Redis name it in different words. */
function comparable(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(comparable);
  if (!(reply instanceof Error)) return reply;
  return `error: ${reply.message
    .replace(/^ERR (Error running script \(call to \w+\): )?/, '')
    .replace(/@?user_script: ?\d+: /g, '')
    .replace(/ script: (\w+, )?on @user_script:\d+\.$/, '')
    .replace(/^ERR /, '')
    .replace(MISTAKE, (_, ...words: Array<string | undefined>) => words.find((word) => word !== undefined) ?? '')}`;
}

/** What makes an error of a mistake in a script, in the words of which version of Redis it may be. */
const MISTAKE =
  /^.*(invalid expire time|Unknown|Wrong number of args|arguments must be strings|nonexistent global).*$|^.*(?:readonly table|create global variable).*$/s;

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

async function compareStates(done: readonly string[]): Promise<void> {
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
    if (ends >= 0 && apart > TOLERANCE + 2 * slack)
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
    ['an error reply', "return redis.error_reply('MY mistake')"],
    ['an error reply without a code', "return redis.error_reply('mistake')"],
    ['a status reply', "return redis.status_reply('FINE')"],
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
  ])('are those of the real server: %s', async (_, source) => {
    const [real, own] = await both(scriptOf(source), ['k1', 'k2'], ['a', 'ü']);
    expect(own).toEqual(real);
    await compareStates([source]);
  });

  it('begin with a clock in seconds and microseconds', async () => {
    const [real, own] = await both(scriptOf("local time = redis.call('TIME') return {#time, type(time[1])}"), [], []);
    expect(own).toEqual(real);
  });
});

/** Names of keys, of fields and members, and numbers, some of which no command accepts. */
const key = fc.constantFrom('k1', 'k2', 'k3');
const field = fc.constantFrom('a', 'b', 'c', 'd', 'ü');
const score = fc.oneof(
  fc.integer({ min: -5, max: 5 }).map(String),
  fc.constantFrom('1.5', '0.25', '1700000000123456', '4503599627370497', 'inf', '-inf', '1e3', 'x', ''),
);
const bound = fc.oneof(
  score,
  fc.integer({ min: -3, max: 5 }).map((n) => `(${n})`.slice(0, -1)),
  fc.constantFrom('-inf', '+inf'),
);
const rank = fc.oneof(fc.integer({ min: -6, max: 6 }).map(String), fc.constantFrom('x', '1.5'));
const words = (...parts: ReadonlyArray<string | fc.Arbitrary<string | readonly string[]>>): fc.Arbitrary<string[]> =>
  fc.tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part))).map((all) => all.flat());
const some = (each: fc.Arbitrary<string>): fc.Arbitrary<string[]> => fc.array(each, { minLength: 1, maxLength: 3 });
/** The words of one of these texts. */
const oneOf = (...texts: string[]): fc.Arbitrary<string[]> =>
  fc.constantFrom(...texts).map((text) => (text === '' ? [] : text.split(' ')));
const maybe = (text: string): fc.Arbitrary<string[]> => oneOf('', text);
const flagged = oneOf('', '', 'NX', 'XX', 'LT', 'GT', 'XX LT', 'NX XX', 'NX LT', 'CX');

const command = fc.oneof(
  words(fc.constantFrom('DEL', 'UNLINK', 'EXISTS'), some(key)),
  words('PEXPIRE', key, fc.constantFrom('100000', '0', '-1', 'x', '1.5')),
  words('PEXPIREAT', key, fc.constantFrom('1', '99999999999999', 'x')),
  words(fc.constantFrom('GET', 'HLEN', 'HGETALL', 'ZCARD'), key),
  words('SET', key, field, oneOf('', 'PX 100000', 'px 0', 'PX 1.5', 'PX', 'XP 5')),
  words(fc.constantFrom('HGET', 'HDEL', 'ZREM', 'ZSCORE', 'ZRANK'), key, field),
  words(fc.constantFrom('HMGET', 'HDEL', 'ZREM'), key, some(field)),
  words('HSET', key, some(field)),
  words('HSET', key, field, field, field, field),
  words('HSCAN', key, '0', maybe('COUNT 100')),
  words('ZADD', key, flagged, score, field),
  words('ZADD', key, flagged, score, field, score, field),
  words('ZADD', key, flagged, score),
  words('ZREMRANGEBYSCORE', key, bound, bound),
  words('ZRANGE', key, rank, rank, maybe('REV'), maybe('WITHSCORES')),
  words(
    ...['ZRANGE', key, bound, bound, 'BYSCORE', maybe('REV')],
    oneOf('', 'LIMIT 0 2', 'LIMIT 1 1', 'LIMIT 1 -1', 'LIMIT x 1'),
    maybe('WITHSCORES'),
  ),
  words('ZRANGE', key, rank, rank, 'LIMIT', '0', '1'),
  words('ZREVRANGE', key, rank, rank, maybe('WITHSCORES')),
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

const lockKeys = (name: string): string[] => Object.values(redisKeys('lock', name));
const CLIENTS = 3;
const SHORT = 5_000;
const LONG = 100_000;
const name = fc.constantFrom('a', 'b');
const holdId = fc
  .tuple(fc.nat(CLIENTS - 1), fc.integer({ min: 1, max: 14 }))
  .map(([client, n]) => `client${client}:${n}`);
const lease = fc.constantFrom(SHORT, LONG, LONG, LONG);
const permits = ['1/12', '2/12', '1/12*3', '0/12'].map((numbers) => `permits:${numbers}`);
const modeText = fc.constantFrom('exclusive', 'read', 'read', ...permits);
const owner = fc.constantFrom('', '', '', '', 'x', 'y');
const request = fc
  .record({
    ...{ id: holdId, mode: modeText, owner, lease, size: fc.constantFrom(1, 16, 0, 1_000) },
    ...{
      from: fc.constantFrom(0, 0, 0, 1),
      waits: fc.constantFrom(1, 1, 2, 0),
      period: fc.constantFrom(20_000, 300_000),
    },
    age: fc.constantFrom('', '', '', '0', '1500.25', '20 backed-off'),
  })
  .map(({ id, mode, owner: by, lease: ms, size, from, waits, period, age }): Args => [
    ...[id, mode, by, ms, size],
    `${from} ${mode === 'permits:0/12' ? 0 : waits} ${period} ${10 * LONG} 30000 ${size === 0 ? 0 : Math.min(size, 16)} ${age}`,
  ]);
const offered = fc.constantFrom('handover:1', 'handover:2');
const to = 'lock:client:\na';
type Arg = string | number | fc.Arbitrary<string | number | Args>;
const calls = (weight: number, script: ScriptName, ...args: readonly Arg[]) => ({
  weight,
  arbitrary: fc
    .tuple(name, fc.tuple(...args.map((arg) => (typeof arg === 'object' ? arg : fc.constant(arg)))))
    .map(([lock, all]) => ({ script, keys: lockKeys(lock), args: all.flat() })),
});
const latchCalls = (keys: readonly string[], script: ScriptName, ...args: readonly Arg[]) => {
  const { weight, arbitrary } = calls(1, script, ...args);
  return { weight, arbitrary: arbitrary.map((each) => ({ ...each, keys: [...keys] })) };
};
const LATCH = ['lock:latch:{a}', 'lock:counted:{a}'];
const call = fc.oneof(
  calls(14, 'acquire', to, request),
  calls(8, 'release', to, holdId, fc.constantFrom('0 0 0', '0 0 0', `${LONG} 0 0`, `0 ${LONG} 0`, '0 0 1')),
  calls(3, 'release', to, holdId, '0 0 0', request),
  calls(2, 'handOver', to, holdId, offered, lease),
  calls(2, 'handOver', to, offered, holdId, lease),
  calls(1, 'setLimit', to, fc.integer({ min: 0, max: 14 }), 1e16),
  calls(1, 'addLimit', to, holdId, fc.integer({ min: -3, max: 3 }), 12, 1e14),
  calls(2, 'keepUnits', to, holdId, 1, fc.constantFrom(0, LONG)),
  calls(1, 'fence', holdId, fc.constantFrom(5, 3e15), 16),
  calls(2, 'reinstate', holdId, modeText, owner, lease, 0, 5, 3),
  calls(1, 'survey', fc.constantFrom('exclusive', 'read', 'permits'), owner),
  calls(1, 'limit'),
  calls(1, 'inspect', '0', '0', 3),
  calls(1, 'confirm', holdId),
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.uniqueArray(name), fc.array(fc.tuple(holdId, lease), { minLength: 2, maxLength: 2 }))
      .map(([names, leases]) => ({
        script: 'renew' as const,
        keys: names.map((each) => lockKeys(each)[0]!),
        args: leases.slice(0, names.length).flat(),
      })),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(request, request).map(([one, two]) => ({
      script: 'acquireAll' as const,
      keys: ['a', 'b'].flatMap(lockKeys),
      args: [...one, ...two],
    })),
  },
  latchCalls(LATCH, 'latchSet', fc.constantFrom('call1', 'call2'), 2, LONG, LONG),
  latchCalls(LATCH, 'latchCountDown', to, fc.constantFrom('call3', 'call4', 'call5'), LONG),
  latchCalls(LATCH, 'latchCount', 'client1', fc.constantFrom(0, LONG), 'call1'),
  latchCalls(LATCH, 'latchDelete', 'call6', fc.constantFrom('call1', 'call2'), LONG),
  latchCalls(LATCH.slice(1), 'latchConfirm', 'call3'),
);

/** Ends by force all holds that the state has. */
const forceReleaseArgs = (): Args => {
  const [state] = simulated.look(micros(), lockKeys('a')[0]!);
  if (state?.type !== 'hash') return [to, 0];
  const list = state.value as readonly string[];
  return [
    to,
    LONG,
    ...list.flatMap((field, i) =>
      i % 2 === 0 && !field.startsWith('#') ? [field.replace(/^\+/, ''), list[i + 1]!.split(' ')[4]!] : [],
    ),
  ];
};

describe('random calls of the scripts', () => {
  it('have the replies and the effects of the real server', async () => {
    const step = fc.oneof(
      { weight: 12, arbitrary: call },
      { weight: 1, arbitrary: fc.constant('force release' as const) },
      { weight: 1, arbitrary: fc.constant('pass' as const) },
    );
    const run = async (
      steps: ReadonlyArray<typeof step extends fc.Arbitrary<infer Step> ? Step : never>,
    ): Promise<void> => {
      await redis.admin.flushall();
      simulated = new KeySpace(steps.length);
      const done: string[] = [];
      let shift = 0;
      for (const each of steps) {
        // Short leases end: by the clock of the scripts, not by that of the keys.
        if (each === 'pass') {
          shift += SHORT;
          continue;
        }
        const { script, keys, args } =
          each === 'force release'
            ? { script: 'forceRelease' as const, keys: lockKeys('a'), args: forceReleaseArgs() }
            : each;
        done.push(JSON.stringify([shift, script, ...args]));
        const [real, own, fault] = await both(SCRIPTS[script], keys, args, shift);
        expect({ done, reply: withoutOrder(script, own), fault }).toEqual({ done, reply: withoutOrder(script, real) });
        await compareStates(done);
      }
    };
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 50, size: 'max' }), run), {
      ...{ seed: SEED, numRuns: RUNS, endOnFailure: process.env['SHRINK'] === undefined },
    });
  });
});

/** Both read hashes in orders of their own: replies name any holds, and some are lists of all. */
function withoutOrder(script: ScriptName, reply: unknown): unknown {
  if (!Array.isArray(reply)) return reply;
  if (script === 'inspect') return [reply[0], [...(reply[1] as unknown[])].map(String).sort(), ...reply.slice(2)];
  return reply.filter((part) => typeof part !== 'string' || !/^(client|handover)/.test(part));
}
