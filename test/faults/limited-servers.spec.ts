import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import type { LockHandle } from '../../lib/index.js';
import { ScriptWalk } from '../../lab/testbed/locks/script-walk.mjs';
import { RespProxy, type ProxyOptions } from '../../lab/testbed/proxies/resp-proxy.mjs';
import { startRedis, type RedisServer } from '../../lab/testbed/servers/redis-server.mjs';
import { eventually } from '../../lab/testbed/wait/eventually.mjs';
import { SCRIPTS } from '../../lib/store/redis/scripts.generated.js';
import { expectHandoff, LockBench, timed } from '../../lab/testbed/locks/locks.js';
import { lockError } from '../../lab/testbed/locks/lock-error.js';

/** A waiter that hears no message retries within 3 s; another second for a busy machine. */
const POLLED = 10_000;

const bench = new LockBench({ records: true });

const serverWithout = async (...commands: string[]): Promise<RedisServer> =>
  bench.endLater(await startRedis({ args: commands.flatMap((name) => ['--rename-command', name, '']) }));

/** A proxy that replaces commands: `rewrite` gives the words that the server gets. */
const rewriting = async (rewrite: ProxyOptions['rewrite']): Promise<RespProxy> =>
  bench.endLater(await RespProxy.start(bench.redis, { rewrite }));

describe.each([['PUBSUB'], ['PUBLISH']])('a server without %s', (command) => {
  it('grants, renews and hands off locks; waiters poll where no message comes', async () => {
    const server = await serverWithout(command);
    const [one, other] = await bench.pair({ connection: server.url, renewedLease: 900 });
    const free = await one.acquire('free');
    const holder = await one.acquire('k');
    const waiting = timed(other.acquire('k', { waitTimeout: '60s' }));
    await eventually(async () => (await one.inspect('k'))?.waiters.length === 1);
    await eventually(() => bench.told('renewed').length >= 4);
    expect(await holder.release()).toBe(true);
    const { value, ran } = await waiting;
    expect(ran).toBeLessThan(POLLED);
    expect(value!.isHeld).toBe(true);
    expect(await value!.release()).toBe(true);
    // The next waiter is in the process that has just released.
    const [first, second] = [await one.acquire('k'), one.acquire('k', { waitTimeout: '60s' })];
    await expectHandoff(first, second);
    expect(await one.forceRelease('free')).toBe(true);
    await eventually(() => !free.isHeld, { within: 10_000 });

    expect(bench.lines.filter((line) => line.startsWith('error'))).toEqual([]);
    expect(bench.warnings.filter((text) => text.includes(`lacks ${command} in scripts`))).toHaveLength(2);
  });
});

/** Replaces `redis` by a table whose functions refuse keys that the command has not declared, as Dragonfly does. */
const DECLARED_ONLY = `
local declared, raw = {}, redis
for _, name in ipairs(KEYS) do declared[name] = true end
local function undeclared(...)
  for _, word in ipairs({ ... }) do
    if type(word) == 'string' and string.find(word, '^lock:%a+:{') and not declared[word] then return true end
  end
end
local redis = setmetatable({
  call = function(...)
    if undeclared(...) then error({ err = 'ERR script tried accessing undeclared key' }) end
    return raw.call(...)
  end,
  pcall = function(...)
    if undeclared(...) then return { err = 'ERR script tried accessing undeclared key' } end
    return raw.pcall(...)
  end,
}, { __index = raw })
`;

const sourceOf = new Map(Object.values(SCRIPTS).map(({ sha1, source }) => [sha1, source]));

/** A server that refuses keys that a script has not declared; `ran`: the hashes of the scripts that have run. */
async function declaredOnly(): Promise<{ readonly port: number; readonly ran: ReadonlySet<string> }> {
  const ran = new Set<string>();
  const { port } = await rewriting(({ name, args: [script, ...rest] }) => {
    const source = name === 'evalsha' ? sourceOf.get(script!) : name === 'eval' ? script : undefined;
    if (source === undefined) return undefined;
    ran.add(createHash('sha1').update(source).digest('hex'));
    return ['EVAL', DECLARED_ONLY + source, ...rest];
  });
  return { port, ran };
}

it('every script uses declared keys only', async () => {
  const { port, ran } = await declaredOnly();
  const client = new Redis(port);
  bench.endLater({ [Symbol.asyncDispose]: async () => client.disconnect() });
  const sizes = { holders: 100, waiters: 100, dead: 20 };
  await new ScriptWalk(client, sizes, (_label, call) => call()).run();
  const missed = Object.entries(SCRIPTS).filter(([, { sha1 }]) => !ran.has(sha1));
  expect(missed.map(([name]) => name)).toEqual([]);
  // The server does refuse other keys.
  await expect(client.eval("return redis.call('GET', 'lock:fence:{k}')", 0)).rejects.toThrow('undeclared key');
});

it('a server that permits declared keys only serves more than eight holds of a key', async () => {
  const { port } = await declaredOnly();
  const connection = { port };
  const service = await bench.service({ connection, renewedLease: 900 });
  const other = await bench.service({ connection });
  const terms = { permits: 20, fair: true } as const;
  const handles: LockHandle[] = [];
  for (let i = 0; i < 20; i++) handles.push(await service.acquire('s', terms));
  expect(await other.tryAcquire('s', terms)).toBeNull();
  const waiting = other.acquire('s', { ...terms, waitTimeout: '30s' });
  const before = bench.told('renewed').length;
  await eventually(() => bench.told('renewed').length >= before + 20, { within: 20_000 });
  for (const handle of handles) expect(await handle.release()).toBe(true);
  expect(await (await waiting).release()).toBe(true);
  const readers = await Promise.all(Array.from({ length: 12 }, () => other.acquire('r', { kind: 'read' })));
  for (const reader of readers) expect(await reader.release()).toBe(true);
  expect((await service.inspect('s'))?.holders ?? []).toEqual([]);
});

describe('a proxy that answers scripts with "QUEUED", as a connection inside MULTI does', () => {
  it('grants and releases nothing, and every call settles with an error that says why', async () => {
    let isQueued = false;
    const { port } = await rewriting(({ name }) =>
      isQueued && /^eval(sha)?$/.test(name) ? ['ECHO', 'QUEUED'] : undefined,
    );
    const [service, other] = [await bench.service({ connection: { port } }), await bench.service()];
    const held = await other.acquire('k');
    const own = await service.acquire('own');
    isQueued = true;
    const calls: Array<() => Promise<unknown>> = [
      () => service.acquire('k', { waitTimeout: 0 }),
      () => service.acquire('k'),
      () => service.tryAcquire('k', { permits: 2 }),
      () => service.acquire(['x', 'y']),
      () => service.tryAcquire(['x', 'y']),
      () => service.getCountDownLatch('l').getCount(),
      () => service.getCountDownLatch('l').trySetCount(1),
      () => service.inspect('k'),
      () => service.forceRelease('k'),
      () => own.verify(),
      () => own.extend(5_000),
    ];
    for (const call of calls) {
      const { error, ran } = await timed(call());
      expect(error).toEqual(lockError('LOCK_STORE', 'answered with "QUEUED"'));
      expect(ran).toBeLessThan(POLLED);
    }
    await expect(own.release()).rejects.toMatchObject({ code: 'LOCK_STORE' });
    expect(held.isHeld).toBe(true);
    isQueued = false;
    expect(await held.release()).toBe(true);
  });
});

it('a refusal by the ACL inside a script, in the words of Valkey 9, names the missing permission', async () => {
  const refusal =
    "ERR ACL failure in script: User default has no permissions to run the 'hset' command script: f, on @user_script:1.";
  const { port } = await rewriting(({ name, args }) =>
    /^eval(sha)?$/.test(name) && args.includes('lock:state:{k}')
      ? ['EVAL', `return redis.error_reply(ARGV[1])`, '0', refusal]
      : undefined,
  );
  const service = await bench.service({ connection: { port } });
  const { error } = await timed(service.acquire('k'));
  expect(error).toEqual(
    lockError('LOCK_STORE', 'the Redis user lacks a permission that locks need', { transient: false }),
  );
});

it.each([
  ['ioredis', (url: string) => url],
  ['node-redis', (url: string) => createClient({ url })],
])('a server without HELLO and CLIENT serves locks: %s', async (_client, connect) => {
  const { url } = await serverWithout('HELLO', 'CLIENT');
  const [one, other] = [
    await bench.service({ connection: connect(url) }),
    await bench.service({ connection: connect(url) }),
  ];
  const holder = await one.acquire('a');
  const waiting = timed(other.acquire('a'));
  await eventually(async () => (await one.inspect('a'))?.waiters.length === 1);
  expect(await holder.release()).toBe(true);
  const { value, ran } = await waiting;
  expect(ran).toBeLessThan(2_500);
  expect(await value!.release()).toBe(true);
});

it.each(['EVALSHA', 'TIME', 'ZREVRANGE'])('a server without %s, which locks need, is refused', async (command) => {
  const server = await serverWithout(command);
  const { error } = await timed(bench.service({ connection: server.url }));
  expect(error).toEqual(
    lockError('LOCK_STORE', /this server lacks a command that locks need: npx nestjs-redis-locks doctor names it/, {
      transient: false,
    }),
  );
  expect(error.message).toMatch(new RegExp(`unknown command.*${command}|the script called ${command}`, 'i'));
});

it('a server that is loading its data is asked again soon, not after its own estimate', async () => {
  const asked = new Set<number>();
  // To the first request of each connection it says that it still loads its data.
  const { url } = await rewriting(({ name, connection }) => {
    if (name !== 'info' || asked.has(connection)) return undefined;
    asked.add(connection);
    return ['ECHO', 'loading:1\r\nloading_eta_seconds:5\r\n'];
  });
  const since = performance.now();
  const service = await bench.service({ connection: url });
  expect(await (await service.acquire('a')).release()).toBe(true);
  expect(asked.size).toBeGreaterThan(0);
  expect(performance.now() - since).toBeLessThan(4_500);
});
